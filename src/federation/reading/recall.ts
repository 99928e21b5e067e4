import { copyWith } from '../../protocol/copy.js'
import { EXTENSION } from '../../protocol/extension.js'
import type { ParamsOf, RecalledRecord, ResultOf } from '../../protocol/methods.js'
import type { MemoryRecord } from '../../protocol/records.js'
import { parseInstant } from '../../protocol/time.js'
import type { Arrived } from '../../upstreams/translate.js'
import type { Answer } from '../fan-out.js'
import { keysWanted } from '../keys.js'
import type { Handler, Parts } from '../parts.js'
import { planReading, type Target } from '../plan.js'
import { type Fused, fuse, type RankedList } from '../ranking/fuse.js'
import { comparing, nearnessIn, type SimilarityOf, vectorVoter } from '../ranking/vector.js'
import { type Arrivals, arrivals, type Blame, byScore } from './arrivals.js'
import { paramsFor, questionOf, type Wish, widthAt, wishOf } from './question.js'
import { boundedLimit, first, policyOf, read } from './reading.js'

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
  const { owner, query, nearest } = questionOf(parts, params)
  const { tier, where, embeddings, min_score, explain, [EXTENSION]: extension } = params
  const keys = keysWanted(parts, params.key_prefix)
  const plan = planReading(parts.layout(), { tier, where, owner, keys, embeddings, nearest })
  const many = plan.targets.length > 1
  const limit = boundedLimit(parts, params.limit ?? parts.recall.limit)
  const veiled = plan.targets.some(({ source }) => source.veiled)
  const wish = wishOf(parts, params, { owner, query, nearest, many, veiled, limit })
  const { lists, report } = await read(
    parts,
    {
      method: 'memory/recall',
      plan,
      owner,
      policy: policyOf(parts, params.partial),
      paramsFor: (target) => paramsFor(target, wish),
      take: (answer, target) => take(parts, answer, target, wish),
    },
    context,
  )
  const asked = plan.targets.length + plan.absent.size
  const similarityOf = nearest === undefined ? unknown : similaritiesIn(lists)
  const ordered = order(parts, lists, { wish, asked, many, similarityOf })
  const chosen = first(worthy(ordered, min_score), limit)
  const records = chosen.map((one) => (explain ? explained(one) : one.record))
  if (wish.quiet && !extension?.quiet) {
    const sources = plan.targets.map(({ source }) => source)
    parts.uses.note({ sources, lists, records, observe: context.observe })
  }
  if (!extension?.similarities) return { records, federation: report }
  const similarities = chosen.map(({ found }) => similarityOf(found) ?? null)
  return { records, federation: report, [EXTENSION]: { similarities } }
}

/** Without a vector nothing is near. */
function unknown(): undefined {
  return undefined
}

/** An answer in the gateway's terms, each record with how near it is, where that can be said. */
function take(
  { blame }: Parts,
  answer: Answer<'memory/recall'>,
  target: Target,
  wish: Wish,
): Arrivals {
  const { owner, nearest } = wish
  const records = ranked(answer, widthAt(target, wish), blame)
  const compare = target.vector && nearest && comparing(target.vector, nearest.space.metric)
  const similarityOf = compare && nearnessIn(answer.result, compare)
  return arrivals(records, { target, owner, blame, similarityOf })
}

function similaritiesIn(lists: readonly RankedList[]): SimilarityOf<MemoryRecord> {
  const similarities = new Map<MemoryRecord, number>()
  for (const { record, similarity } of lists.flatMap(({ arrived }) => arrived)) {
    if (similarity !== undefined) similarities.set(record, similarity)
  }
  return (record) => similarities.get(record)
}

interface Ordering {
  readonly wish: Wish
  /** How many lists were asked for. */
  readonly asked: number
  /** Several upstreams were asked; the order of a single one stands. */
  readonly many: boolean
  readonly similarityOf: SimilarityOf<MemoryRecord>
}

function order(
  parts: Parts,
  lists: readonly RankedList[],
  { wish, asked, many, similarityOf }: Ordering,
): readonly Fused[] {
  const { owner, query, nearest, weight } = wish
  const { k } = parts.recall
  const near = many && nearest !== undefined && lists.some(({ arrived }) => arrived.some(isKnown))
  const words = many && query !== '' ? parts.lexical.voter(owner, query) : undefined
  const vectors = near ? vectorVoter({ weight, similarityOf }) : undefined
  const voters = [words, vectors].filter((voter) => voter !== undefined)
  const listWeight = vectors !== undefined && query === '' ? 0 : 1
  const fused = fuse(lists, { k, asked, voters, listWeight })
  parts.observeFusion({ lists: lists.length, candidates: fused.length })
  return query === '' && nearest === undefined ? newestFirst(fused, k) : fused
}

function isKnown({ similarity }: Arrived): boolean {
  return similarity !== undefined
}

/** An upstream's ranking as it should have told it: by descending score, no longer than it was asked for. */
function ranked({ result, source }: Answer<'memory/recall'>, width: number, blame: Blame) {
  const records = result?.records ?? []
  if (width > 0 && records.length > width) blame(source.name, 'over_limit', 1)
  return first(byScore(records, source.name, blame), width)
}

function newestFirst(fused: readonly Fused[], k: number): Fused[] {
  const instants = new Map(fused.map((entry) => [entry, parseInstant(entry.at) ?? 0]))
  const ordered = fused.toSorted((a, b) => (instants.get(b) ?? 0) - (instants.get(a) ?? 0))
  return ordered.map((entry, index) => {
    const score = (k + 1) / (k + index + 1)
    const votes = [{ list: 'recency', rank: index + 1, weight: 1, share: score }]
    return { at: entry.at, found: entry.found, record: { ...entry.record, score }, votes }
  })
}

function worthy(fused: readonly Fused[], least: number | undefined): readonly Fused[] {
  return least === undefined ? fused : fused.filter(({ record }) => (record.score ?? 0) >= least)
}

function explained({ record, votes }: Fused): RecalledRecord {
  return copyWith(record, { explain: votes })
}
