import { copyWith } from '../protocol/copy.js'
import type { Method, ParamsOf, ResultOf } from '../protocol/methods.js'
import type { Entry, MemoryRecord } from '../protocol/records.js'
import type { Owner } from '../protocol/scope.js'
import type { Usage } from '../protocol/usage.js'
import { codePoints } from '../text/points.js'

/** What went one way, in or out. Characters are code points of contents. */
export interface Measure {
  readonly records: number
  readonly characters: number
  readonly vectors: number
  /** The tiers that are named: by the caller on the way in, by the records on the way out. */
  readonly tiers: readonly string[]
  /** Entries that name no tier, and so go to the default one or to where their key lives. */
  readonly untiered: number
}

const NOTHING: Measure = { records: 0, characters: 0, vectors: 0, tiers: [], untiered: 0 }

/**
 * What comes in with a call. Records in are those to be written: ids that are named bring nothing in. A vector that is
 * searched by counts as a vector in, a query brings no characters, since it is no content.
 */
export function measureParams<M extends Method>(method: M, params: ParamsOf<M>): Measure {
  return IN[method](params)
}

/** What goes out with the result of a call: records with their contents and vectors. */
export function measureResult<M extends Method>(method: M, result: ResultOf<M>): Measure {
  return OUT[method](result)
}

/** What came in with a call in the end: beside what its params bring, the summary that it made and wrote. */
export function measureWritten<M extends Method>(
  method: M,
  incoming: Measure,
  result: ResultOf<M>,
): Measure {
  return MADE[method]?.(incoming, result) ?? incoming
}

/** The params of a remember without the entries at those places; others as they are. */
export function withoutEntries<M extends Method>(
  params: ParamsOf<M>,
  places: ReadonlySet<number>,
): ParamsOf<M> {
  if (places.size === 0 || !('records' in params)) return params
  const records = params.records.filter((_, place) => !places.has(place))
  return copyWith(params, { records })
}

/** Both ways together, as it is told of a call that succeeded. `defaultTier` is where entries go that name no tier. */
export function usageOf(
  owner: Owner,
  incoming: Measure,
  outgoing: Measure,
  defaultTier?: string,
): Usage {
  return {
    owner,
    tiers: joined(incoming, outgoing, defaultTier),
    recordsIn: incoming.records,
    recordsOut: outgoing.records,
    charactersIn: incoming.characters,
    charactersOut: outgoing.characters,
    vectorsIn: incoming.vectors,
    vectorsOut: outgoing.vectors,
  }
}

function joined(
  incoming: Measure,
  outgoing: Measure,
  defaultTier: string | undefined,
): readonly string[] {
  const unnamed = incoming.untiered > 0 && defaultTier !== undefined
  if (!unnamed && incoming.tiers.length === 0) return outgoing.tiers
  if (!unnamed && outgoing.tiers.length === 0) return incoming.tiers
  const tiers = new Set(incoming.tiers)
  if (unnamed) tiers.add(defaultTier)
  for (const tier of outgoing.tiers) tiers.add(tier)
  return [...tiers]
}

type Incoming = { readonly [M in Method]: (params: ParamsOf<M>) => Measure }
type Outgoing = { readonly [M in Method]: (result: ResultOf<M>) => Measure }

/** A method that nobody measures does not compile. */
const IN: Incoming = {
  'memory/describe': nothing,
  'memory/remember': ({ records }) => measureEntries(records),
  'memory/recall': ({ tier, embedding }) => named([tier], embedding === undefined ? 0 : 1),
  'memory/timeline': ({ tier }) => named([tier]),
  'memory/forget': ({ tier }) => named([tier]),
  'memory/promote': ({ tier }) => named([tier]),
  'memory/consolidate': nothing,
  'memory/reinforce': nothing,
  'memory/fetch': nothing,
  'memory/session/list': nothing,
  'memory/session/close': nothing,
  'memory/events': nothing,
  'memory/events/subscribe': nothing,
  'memory/events/unsubscribe': nothing,
  'memory/summarize': ({ tier, into }) => named([tier, into]),
}

const OUT: Outgoing = {
  'memory/describe': nothing,
  'memory/remember': nothing,
  'memory/recall': ({ records }) => measureEntries(records),
  'memory/timeline': ({ records }) => measureEntries(records),
  'memory/forget': nothing,
  'memory/promote': nothing,
  'memory/consolidate': nothing,
  'memory/reinforce': nothing,
  'memory/fetch': ({ record }) => (record === null ? NOTHING : measureEntries([record])),
  'memory/session/list': nothing,
  'memory/session/close': nothing,
  'memory/events': nothing,
  'memory/events/subscribe': nothing,
  'memory/events/unsubscribe': nothing,
  'memory/summarize': ({ records }) => measureEntries(records),
}

/** Methods that write what no caller sent. */
const MADE: {
  readonly [M in Method]?: (incoming: Measure, result: ResultOf<M>) => Measure
} = {
  'memory/summarize': (incoming, { records, written }) => {
    if (written === 0) return incoming
    const { records: count, characters } = measureEntries(records)
    return copyWith(incoming, { records: count, characters })
  },
}

function nothing(): Measure {
  return NOTHING
}

function named(tiers: readonly (string | undefined)[], vectors = 0): Measure {
  const different = new Set(tiers.flatMap((tier) => tier || []))
  if (different.size === 0 && vectors === 0) return NOTHING
  return { ...NOTHING, vectors, tiers: [...different] }
}

/** Entries or records with their contents, whatever they are part of. */
export function measureEntries(records: readonly (Entry | MemoryRecord)[]): Measure {
  const tiers: string[] = []
  let characters = 0
  let vectors = 0
  let untiered = 0
  for (const { content, embedding, tier } of records) {
    characters += charactersOf(content)
    if (embedding !== undefined) vectors++
    if (tier === undefined) untiered++
    else if (!tiers.includes(tier)) tiers.push(tier)
  }
  return { records: records.length, characters, vectors, tiers, untiered }
}

/** A text of as many bytes as units is ASCII, which has nothing to count. */
function charactersOf(text: string): number {
  return Buffer.byteLength(text) === text.length ? text.length : codePoints(text)
}
