import { inKeyRange, keyRange } from './key-prefix.js'
import { type Method, SPECS } from './methods.js'

/**
 * What one role lets its holder do; undefined is everything of that kind. Tiers and upstreams are the gateway's names, key
 * prefixes are paths (§3.6). `read` takes no writes at all.
 */
export interface Grant {
  /** The role's name. */
  readonly role: string
  readonly methods: ReadonlySet<Method> | undefined
  readonly tiers: ReadonlySet<string> | undefined
  readonly upstreams: ReadonlySet<string> | undefined
  readonly keyPrefixes: readonly string[] | undefined
  readonly access: 'read' | 'write'
}

/** What a caller may do: whatever one of its roles grants by itself. None is nothing; undefined, where no roles are defined, everything. */
export type Access = readonly Grant[] | undefined

/** Roles as the configuration defines them, by name. */
export type RoleDefinitions = ReadonlyMap<string, Grant>

/**
 * What roles amount to, in the order of their definitions, each once. A role that is not defined grants nothing; without
 * definitions roles are labels, and everyone may do everything in its scope.
 */
export function accessOf(
  roles: readonly string[],
  definitions: RoleDefinitions | undefined,
): Access {
  if (definitions === undefined) return undefined
  return [...definitions.values()].filter(({ role }) => roles.includes(role))
}

/** A place that records are in or go to; what is undefined is not asked about. */
export interface Place {
  readonly tier?: string | undefined
  readonly upstream?: string | undefined
  /** Of a record without a key it is undefined too: prefixes say nothing about those. */
  readonly key?: string | undefined
}

/** Whether a grant allows the whole of it by itself. */
export function covers(grant: Grant, { tier, upstream, key }: Place): boolean {
  return (
    (tier === undefined || grant.tiers === undefined || grant.tiers.has(tier)) &&
    (upstream === undefined || grant.upstreams === undefined || grant.upstreams.has(upstream)) &&
    (key === undefined || isUnder(key, grant.keyPrefixes))
  )
}

/** Whether a key, or a prefix of keys, is at or beneath one of the prefixes; undefined ones are no bound. */
export function isUnder(key: string, prefixes: readonly string[] | undefined): boolean {
  if (prefixes === undefined) return true
  return prefixes.some((prefix) => inKeyRange(key, keyRange(prefix)))
}

/** Whether a grant lets its holder call a method; everyone may ask what there is for it. */
export function allowsMethod({ methods, access }: Grant, method: Method): boolean {
  const { kind } = SPECS[method]
  if (kind === 'describe') return true
  if (kind === 'write' && access === 'read') return false
  return methods === undefined || methods.has(method) || methods.has(UNDONE_BY[method] ?? method)
}

/** Who may begin it may end it. */
const UNDONE_BY: { readonly [M in Method]?: Method } = {
  'memory/events/unsubscribe': 'memory/events/subscribe',
}
