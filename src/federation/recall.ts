import { copyWith } from '../protocol/copy.js'
import { EXTENSION } from '../protocol/extension.js'
import type { ParamsOf, RecalledRecord, ResultOf } from '../protocol/methods.js'
import { type Owner, ownerOf } from '../protocol/scope.js'
import { parseInstant } from '../protocol/time.js'
import { byScore } from './arrivals.js'
import type { Answer } from './fan-out.js'
import { type Fused, fuse } from './fuse.js'
import { keysWanted } from './keys.js'
import type { Handler, Parts } from './parts.js'
import { planReading, type Target } from './plan.js'
import { arrive, boundedLimit, first, policyOf, read } from './reading.js'

type Params = ParamsOf<'memory/recall'>

/**
 * Asks all upstreams at once and merges by rank. With several of them, each is asked for the window, so that within it a smaller
 * limit gives the first of a larger one, and the lexical voter ranks all candidates alike. Without a question the newest
 * come first. Asking for more than goes out is no use of it: upstreams that count use are told afterwards what went out.
 */
export const recall: Handler<Params, ResultOf<'memory/recall'>> = async (
  parts,
  params,
  context,
) => {
  const owner = ownerOf(params)
  const { tier, where } = params
  const query = params.query?.trim() ?? ''
  const keys = keysWanted(parts, params.key_prefix)
  const plan = planReading(parts.layout(), { tier, where, owner, keys })
  const limit = boundedLimit(parts, params.limit ?? parts.recall.limit)
  const many = plan.targets.length > 1
  const width = limit === 0 || !many ? limit : Math.max(limit, parts.recall.window)
  const { min_score, explain } = params
  const told = params[EXTENSION]?.quiet === true
  const quiet = told || many || min_score !== undefined
  const { lists, report } = await read(
    parts,
    {
      method: 'memory/recall',
      plan,
      owner,
      policy: policyOf(parts, params.partial),
      paramsFor: (target) => paramsFor(target, { query, owner, width, quiet }),
      take: (answer, target) =>
        arrive(parts, ranked(parts, answer, widthAt(target, width)), target, owner),
    },
    context,
  )
  const voter = many && query !== '' ? parts.lexical.voter(owner, query) : undefined
  const { k } = parts.recall
  const asked = plan.targets.length + plan.absent.size
  const fused = fuse(lists, { k, asked, voters: voter === undefined ? [] : [voter] })
  parts.observeFusion({ lists: lists.length, candidates: fused.length })
  const ordered = query === '' ? newestFirst(fused, k) : fused
  const records = finish(ordered, { limit, min_score, explain })
  if (quiet && !told) {
    const sources = plan.targets.map(({ source }) => source)
    parts.uses.note({ sources, lists, records, observe: context.observe })
  }
  return { records, federation: report }
}

interface Wish {
  readonly query: string
  readonly owner: Owner
  readonly width: number
  readonly quiet: boolean
}

function paramsFor(
  { source, tiers, where, keyPrefix }: Target,
  { query, owner, width, quiet }: Wish,
): Params {
  const selected = { tiers, owner, where, limit: width, keyPrefix, quiet }
  const selection = source.translation.reading(selected, where)
  return query === '' ? selection : copyWith(selection, { query })
}

/** Where an upstream is not told the whole of `where`, or reads a prefix its own way, everything is asked for. */
function widthAt({ source, where, keyPrefix }: Target, width: number): number {
  return source.translation.holdsTo(where, keyPrefix) ? width : 0
}

/** An upstream's ranking as it should have told it: by descending score, no longer than it was asked for. */
function ranked(parts: Parts, { result, source }: Answer<'memory/recall'>, width: number) {
  const records = result?.records ?? []
  if (width > 0 && records.length > width) parts.blame(source.name, 'over_limit', 1)
  return first(byScore(records, source.name, parts.blame), width)
}

function newestFirst(fused: readonly Fused[], k: number): Fused[] {
  const instants = new Map(fused.map((entry) => [entry, parseInstant(entry.at) ?? 0]))
  const ordered = fused.toSorted((a, b) => (instants.get(b) ?? 0) - (instants.get(a) ?? 0))
  return ordered.map((entry, index) => {
    const score = (k + 1) / (k + index + 1)
    const votes = [{ list: 'recency', rank: index + 1, weight: 1, share: score }]
    return { at: entry.at, record: { ...entry.record, score }, votes }
  })
}

function finish(
  fused: readonly Fused[],
  {
    limit,
    min_score,
    explain,
  }: { limit: number; min_score?: number | undefined; explain?: boolean | undefined },
): RecalledRecord[] {
  const worthy =
    min_score === undefined ? fused : fused.filter(({ record }) => (record.score ?? 0) >= min_score)
  return first(worthy, limit).map((one) =>
    explain ? copyWith(one.record, { explain: one.votes }) : one.record,
  )
}
