import { copyWith } from '../protocol/copy.js'
import { EXTENSION } from '../protocol/extension.js'
import type { ParamsOf, RecalledRecord, ResultOf } from '../protocol/methods.js'
import type { MemoryRecord } from '../protocol/records.js'
import { type Owner, ownerOf } from '../protocol/scope.js'
import { parseInstant } from '../protocol/time.js'
import { byScore } from './arrivals.js'
import type { Answer } from './fan-out.js'
import { type Fused, fuse, type RankedList, type Voter } from './fuse.js'
import { keysWanted } from './keys.js'
import type { Handler, Parts } from './parts.js'
import { type NearestWanted, planReading, type Target } from './plan.js'
import { arrive, boundedLimit, first, policyOf, read } from './reading.js'
import { vectorVoter } from './vector.js'
import { requireWidth } from './width.js'

type Params = ParamsOf<'memory/recall'>

/**
 * Asks all upstreams at once and merges by rank. With several of them, each is asked for the window, so that within it a smaller
 * limit gives the first of a larger one, and the gateway's own voters rank all candidates alike: by words, by vector. By a vector
 * without words, that comparison alone decides: it is exact where the order of an upstream need not be. Without a question the
 * newest come first. Asking for more than goes out is no use of it: upstreams that count use are told afterwards what went out.
 */
export const recall: Handler<Params, ResultOf<'memory/recall'>> = async (
  parts,
  params,
  context,
) => {
  const question = questionOf(parts, params)
  const { owner, query, nearest } = question
  const { tier, where, embeddings, min_score, explain } = params
  const keys = keysWanted(parts, params.key_prefix)
  const plan = planReading(parts.layout(), { tier, where, owner, keys, embeddings, nearest })
  const limit = boundedLimit(parts, params.limit ?? parts.recall.limit)
  const many = plan.targets.length > 1
  const width = limit === 0 || !many ? limit : Math.max(limit, parts.recall.window)
  const told = params[EXTENSION]?.quiet === true
  const quiet = told || many || min_score !== undefined
  const weighing = many && nearest !== undefined && parts.recall.voters.vector > 0
  const { lists, report } = await read(
    parts,
    {
      method: 'memory/recall',
      plan,
      owner,
      policy: policyOf(parts, params.partial),
      paramsFor: (target) => paramsFor(target, { query, owner, width, quiet, weighing }),
      take: (answer, target) =>
        arrive(parts, ranked(parts, answer, widthAt(target, width)), target, owner),
    },
    context,
  )
  const asked = plan.targets.length + plan.absent.size
  const ordered = order(parts, lists, { ...question, asked, many })
  const records = finish(ordered, { limit, min_score, explain })
  if (quiet && !told) {
    const sources = plan.targets.map(({ source }) => source)
    parts.uses.note({ sources, lists, records, observe: context.observe })
  }
  return { records, federation: report }
}

interface Question {
  readonly owner: Owner
  /** Empty where no words are given. */
  readonly query: string
  readonly nearest: NearestWanted | undefined
}

function questionOf(parts: Parts, params: Params): Question {
  const { embedding } = params
  const { space } = parts.promise()
  const query = params.query?.trim() ?? ''
  requireWidth(parts, [embedding])
  const nearest = embedding && space && { vector: embedding, space, words: query !== '' }
  return { owner: ownerOf(params), query, nearest }
}

interface Wish {
  readonly query: string
  readonly owner: Owner
  readonly width: number
  readonly quiet: boolean
  /** The gateway compares vectors itself, and so needs them. */
  readonly weighing: boolean
}

function paramsFor(
  { source, tiers, where, keyPrefix, vector, embeddings = false }: Target,
  { query, owner, width, quiet, weighing }: Wish,
): Params {
  const along = embeddings || (weighing && vector !== undefined)
  const selected = { tiers, owner, where, limit: width, keyPrefix, quiet, embeddings: along }
  const selection = source.translation.reading(selected, where)
  if (query === '' && vector === undefined) return selection
  return copyWith(selection, {
    ...(query === '' ? {} : { query }),
    ...(vector === undefined ? {} : { embedding: vector }),
  })
}

interface Ordering extends Question {
  /** How many lists were asked for. */
  readonly asked: number
  /** Several upstreams were asked; the order of a single one stands. */
  readonly many: boolean
}

function order(
  parts: Parts,
  lists: readonly RankedList[],
  { owner, query, nearest, asked, many }: Ordering,
): readonly Fused[] {
  const { k } = parts.recall
  const words = many && query !== '' ? parts.lexical.voter(owner, query) : undefined
  const vectors = many && nearest ? byVector(parts, lists, nearest) : undefined
  const voters = [words, vectors].filter((voter) => voter !== undefined)
  const listWeight = vectors !== undefined && query === '' ? 0 : 1
  const fused = fuse(lists, { k, asked, voters, listWeight })
  parts.observeFusion({ lists: lists.length, candidates: fused.length })
  return query === '' && nearest === undefined ? newestFirst(fused, k) : fused
}

function byVector(
  { recall }: Parts,
  lists: readonly RankedList[],
  { vector, space }: NearestWanted,
): Voter | undefined {
  const vectors = new Map<MemoryRecord, readonly number[]>()
  for (const { record, vector } of lists.flatMap(({ arrived }) => arrived)) {
    if (vector !== undefined) vectors.set(record, vector)
  }
  if (vectors.size === 0) return undefined
  const vectorOf = (record: MemoryRecord) => vectors.get(record)
  return vectorVoter({ weight: recall.voters.vector, metric: space.metric, vector, vectorOf })
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
