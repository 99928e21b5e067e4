import type { z } from 'zod'
import type {
  explanationSchema,
  limitsSchema,
  recalledSchema,
  SCHEMAS,
  tierSchema,
} from './schemas.js'

/*
 * Names and types alone. The schemas are in schemas.ts, so that what checks nothing, as a store in its thread, loads none.
 */

/** The capabilities of A2M 0.1 (§2); `core` is every server's. */
export const CAPABILITIES = [
  'core',
  'tiers',
  'salience',
  'scopes',
  'sessions',
  'keys',
  'embeddings',
  'external',
  'events',
  'summarize',
  'prompt',
] as const
export type Capability = (typeof CAPABILITIES)[number]

/** The capability that brings a field of an entry, beside its owner and its tier: without it the field is ignored (§4.2). */
export const BROUGHT_BY = {
  salience: 'salience',
  session: 'sessions',
  key: 'keys',
  embedding: 'embeddings',
  uri: 'external',
  media_type: 'external',
} as const satisfies Readonly<Record<string, Capability>>

/** `describe` reads the server itself, `read` its records, `write` changes them, `connection` only what the connection is told. */
export type Kind = 'describe' | 'read' | 'write' | 'connection'

interface Spec {
  readonly capability: Capability
  readonly kind: Kind
}

/** Every method of A2M 0.1: the capability that brings it, and what it does. */
export const SPECS = {
  'memory/describe': { capability: 'core', kind: 'describe' },
  'memory/remember': { capability: 'core', kind: 'write' },
  'memory/recall': { capability: 'core', kind: 'read' },
  'memory/timeline': { capability: 'core', kind: 'read' },
  'memory/forget': { capability: 'core', kind: 'write' },
  'memory/promote': { capability: 'tiers', kind: 'write' },
  'memory/consolidate': { capability: 'tiers', kind: 'write' },
  'memory/reinforce': { capability: 'salience', kind: 'write' },
  'memory/fetch': { capability: 'keys', kind: 'read' },
  'memory/session/list': { capability: 'sessions', kind: 'read' },
  'memory/session/close': { capability: 'sessions', kind: 'write' },
  'memory/events': { capability: 'events', kind: 'read' },
  'memory/events/subscribe': { capability: 'events', kind: 'connection' },
  'memory/events/unsubscribe': { capability: 'events', kind: 'connection' },
  'memory/summarize': { capability: 'summarize', kind: 'write' },
} as const satisfies Readonly<Record<string, Spec>>

export type Method = keyof typeof SPECS
export type ParamsOf<M extends Method> = z.output<(typeof SCHEMAS)[M]['params']>
export type ResultOf<M extends Method> = z.output<(typeof SCHEMAS)[M]['result']>

export const METHOD_NAMES = Object.keys(SPECS) as readonly Method[]

/** One vote for a recalled record: whose list, its rank from 1 there, the list's weight, and the part of `score` it gave. */
export type Explanation = z.output<typeof explanationSchema>

/** A recalled record, with its votes where `explain` was asked for. */
export type RecalledRecord = z.output<typeof recalledSchema>

/** One tier as describe tells it (§4.7); `capacity` 0 is unbounded. */
export type Tier = z.output<typeof tierSchema>

/** Limits that a server enforces (§4.1); an absent one is no limit. Contents are measured in code points. */
export type Limits = z.output<typeof limitsSchema>

/** The methods that come with these capabilities. */
export function methodsOf(capabilities: ReadonlySet<Capability>): Method[] {
  return METHOD_NAMES.filter((method) => capabilities.has(SPECS[method].capability))
}

/** A server's answer about itself (§4.1). */
export type Description = ResultOf<'memory/describe'>

export function isMethod(text: string): text is Method {
  return Object.hasOwn(SPECS, text)
}
