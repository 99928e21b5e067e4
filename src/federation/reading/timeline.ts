import { isMinted } from '../../protocol/ids.js'
import type { ParamsOf, ResultOf } from '../../protocol/methods.js'
import type { MemoryRecord } from '../../protocol/records.js'
import { type Owner, ownerOf } from '../../protocol/scope.js'
import { parseInstant } from '../../protocol/time.js'
import { keysWanted } from '../keys.js'
import type { Handler, Parts } from '../parts.js'
import { planReading, type Target } from '../plan.js'
import { type Fused, fuse, type RankedList } from '../ranking/fuse.js'
import { arrive, boundedLimit, policyOf, read } from './reading.js'

type Params = ParamsOf<'memory/timeline'>

/** Reads records in the order of their making, merged by instant; with a limit, the newest of them. */
export const timeline: Handler<Params, ResultOf<'memory/timeline'>> = async (
  parts,
  params,
  context,
) => {
  const owner = ownerOf(params)
  const { tier, where, embeddings } = params
  const keys = keysWanted(parts, params.key_prefix)
  const plan = planReading(parts.layout(), { tier, where, owner, keys, embeddings })
  const limit = boundedLimit(parts, params.limit ?? 0)
  const { lists, report } = await read(
    parts,
    {
      method: 'memory/timeline',
      plan,
      owner,
      policy: policyOf(parts, params.partial),
      paramsFor: (target) => paramsFor(parts, target, owner, limit),
      take: (answer, target) => arrive(parts, answer.result?.records ?? [], target, owner),
    },
    context,
  )
  const records = mergeByInstant(lists)
  return { records: limit === 0 ? records : records.slice(-limit), federation: report }
}

/**
 * Where moved records are shown older than the upstream knows, as many more are asked for. One that may ignore `where` on a
 * timeline (§4.4 leaves that to it) is asked for everything, since a limit would cut before the filter.
 */
function paramsFor(
  parts: Parts,
  { source, tiers, where, keyPrefix, embeddings }: Target,
  owner: Owner,
  limit: number,
): Params {
  const { extended, capabilities } = source.profile
  const deaf = Object.keys(where).length > 0 && !extended && !capabilities.has('sessions')
  const displaced = extended ? 0 : parts.carried.count(source.name)
  const width = limit === 0 || deaf ? 0 : limit + displaced
  const selection = { tiers, owner, where, limit: width, keyPrefix, embeddings }
  return source.translation.reading(selection, where)
}

interface Dated {
  readonly record: MemoryRecord
  readonly instant: number
}

/** Oldest first; equal instants keep the order of their upstream, and the upstreams that of the configuration. */
function mergeByInstant(lists: readonly RankedList[]): MemoryRecord[] {
  const fused = fuse(lists, { k: 60, asked: lists.length, voters: [] })
  const dated = fused.map((entry) => ({ record: withoutScore(entry), instant: instantOf(entry) }))
  const ordered = dated.sort((a, b) => a.instant - b.instant)
  if (lists.length > 1) asMade(ordered)
  return ordered.map(({ record }) => record)
}

function instantOf({ at }: Fused): number {
  return parseInstant(at) ?? 0
}

/**
 * A batch has one instant. Where its records have come to live in several stores, the ids that the gateway gave them say how they
 * followed one another; records with other ids keep their places.
 */
function asMade(ordered: Dated[]): void {
  for (let start = 0; start < ordered.length; ) {
    let end = start + 1
    while (end < ordered.length && ordered[end]?.instant === ordered[start]?.instant) end++
    if (end - start > 1) sortMinted(ordered, start, end)
    start = end
  }
}

function sortMinted(ordered: Dated[], start: number, end: number): void {
  const places: number[] = []
  for (let index = start; index < end; index++) {
    if (isMinted(ordered[index]?.record.id ?? '')) places.push(index)
  }
  const minted = places.flatMap((place) => ordered[place] ?? [])
  minted.sort((a, b) => (a.record.id < b.record.id ? -1 : 1))
  for (const [index, dated] of minted.entries()) ordered[places[index] ?? 0] = dated
}

function withoutScore({ record }: Fused): MemoryRecord {
  const { score: _, ...rest } = record
  return rest
}
