import { z } from 'zod'
import { A2mError, CODES } from '../protocol/errors.js'
import { EXTENSION } from '../protocol/extension.js'
import type { Context, Memory } from '../protocol/memory.js'
import type { Description, Limits, Tier } from '../protocol/methods.js'
import { descriptionSchema } from '../protocol/schemas.js'
import { compatible, PROTOCOL } from '../protocol/versions.js'

/** What an upstream says of itself, as far as the gateway leans on it. */
export interface UpstreamProfile {
  readonly name: string
  readonly protocol: string
  readonly capabilities: ReadonlySet<string>
  /** In the upstream's order; empty where it does not declare `tiers` and so has exactly one. Counts are of the reading. */
  readonly tiers: readonly Tier[]
  readonly limits: Limits
  /** How it compares vectors; undefined where it declares no `embeddings`, or does not say how. */
  readonly embeddings: UpstreamVectors | undefined
  /** It takes no writes from the gateway. */
  readonly readOnly: boolean
  /** It understands the extension (protocol/extension.ts). */
  readonly extended: boolean
}

/** What an upstream says of the vectors that it keeps (§3.7). */
export interface UpstreamVectors {
  /** How many numbers each has; null where none has fixed that. */
  readonly dimensions: number | null
  readonly metric: string
  /** Every comparison that it could be configured for, the one in use among them. */
  readonly metrics: readonly string[]
  readonly model: string | undefined
}

const storedSchema = z.object({ description: descriptionSchema, readOnly: z.boolean() })

/** A profile together with the text that brings it back after a restart. */
export interface ReadProfile {
  readonly profile: UpstreamProfile
  readonly stored: string
}

/** Makes the profile of what describe said. Whether it takes writes is not in there. */
function profileOf(description: Description, readOnly: boolean): UpstreamProfile {
  const capabilities = new Set(description.capabilities)
  return {
    name: description.name,
    protocol: description.protocol,
    capabilities,
    tiers: capabilities.has('tiers') ? (description.tiers ?? []) : [],
    limits: description.limits ?? {},
    embeddings: capabilities.has('embeddings') ? vectorsOf(description.embeddings) : undefined,
    readOnly,
    extended: description[EXTENSION] !== undefined,
  }
}

function vectorsOf(told: Description['embeddings']): UpstreamVectors | undefined {
  if (told === undefined) return undefined
  const { dimensions, metric, metrics = [], model } = told
  return {
    dimensions,
    metric,
    metrics: [...new Set([metric, ...metrics])],
    model: model || undefined,
  }
}

/**
 * Brings back a profile from its stored text; what the configuration says of writing goes before what was found out then.
 * Undefined where another version wrote it in another shape or for another protocol.
 */
export function restoreProfile(
  stored: string,
  access: Discovery['access'],
): UpstreamProfile | undefined {
  const parsed = storedSchema.safeParse(parseStored(stored))
  if (!parsed.success) return undefined
  const { description, readOnly } = parsed.data
  if (!compatible(description.protocol, PROTOCOL)) return undefined
  return profileOf(description, access === undefined ? readOnly : access === 'read-only')
}

function parseStored(stored: string): unknown {
  try {
    return JSON.parse(stored)
  } catch {
    return undefined
  }
}

/** Says of an upstream that it speaks another version of the protocol: it is kept out until it does not. */
export class Incompatible extends Error {
  readonly protocol: string
  constructor(protocol: string) {
    super(`speaks ${protocol}, not ${PROTOCOL}`)
    this.protocol = protocol
  }
}

export interface Discovery {
  readonly memory: Memory
  readonly context: Context
  /** What the configuration says of writing; undefined asks the upstream. */
  readonly access: 'read-only' | 'read-write' | undefined
}

/** Asks an upstream for the truth about itself (§4.1). Throws `Incompatible`, or whatever the call threw. */
export async function discover({ memory, context, access }: Discovery): Promise<ReadProfile> {
  const description = await describe(memory, context)
  if (!compatible(description.protocol, PROTOCOL)) throw new Incompatible(description.protocol)
  const readOnly =
    access === undefined ? await refusesWrites(memory, context) : access === 'read-only'
  const stored = JSON.stringify({ description, readOnly })
  return { profile: profileOf(description, readOnly), stored }
}

async function describe(memory: Memory, context: Context): Promise<Description> {
  try {
    return await memory.call('memory/describe', { protocol: PROTOCOL }, context)
  } catch (thrown) {
    if (thrown instanceof A2mError && thrown.code === CODES.PROTOCOL_NOT_SUPPORTED) {
      throw new Incompatible('another version')
    }
    throw thrown
  }
}

/** A write of nothing is refused by everyone: with `-32004` by a read-only store (§2.1), as malformed by any other. */
async function refusesWrites(memory: Memory, context: Context): Promise<boolean> {
  try {
    await memory.call('memory/remember', { records: [] }, context)
    return false
  } catch (thrown) {
    if (thrown instanceof A2mError) return thrown.code === CODES.READ_ONLY
    throw thrown
  }
}

/** Whether the advisory well-known profile (§8.3.3) tells another story than describe. */
export function disagrees(wellKnown: Description, profile: UpstreamProfile): boolean {
  const told = new Set(wellKnown.capabilities)
  const same =
    told.size === profile.capabilities.size && [...told].every((c) => profile.capabilities.has(c))
  return !same || wellKnown.protocol !== profile.protocol
}
