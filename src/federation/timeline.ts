import type { ParamsOf, ResultOf } from '../protocol/methods.js'
import type { MemoryRecord } from '../protocol/records.js'
import { type Owner, ownerOf } from '../protocol/scope.js'
import { parseInstant } from '../protocol/time.js'
import { type Fused, fuse, type RankedList } from './fuse.js'
import { keysWanted } from './keys.js'
import type { Handler, Parts } from './parts.js'
import { planReading, type Target } from './plan.js'
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

/** Oldest first; equal instants keep the order of their upstream, and the upstreams that of the configuration. */
function mergeByInstant(lists: readonly RankedList[]): MemoryRecord[] {
  const fused = fuse(lists, { k: 60, asked: lists.length, voters: [] })
  const dated = fused.map((entry) => ({ entry, instant: parseInstant(entry.at) ?? 0 }))
  return dated.sort((a, b) => a.instant - b.instant).map(({ entry }) => withoutScore(entry))
}

function withoutScore({ record }: Fused): MemoryRecord {
  const { score: _, ...rest } = record
  return rest
}
