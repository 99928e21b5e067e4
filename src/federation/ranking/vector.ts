import { EXTENSION } from '../../protocol/extension.js'
import type { ResultOf } from '../../protocol/methods.js'
import type { MemoryRecord } from '../../protocol/records.js'
import { COMPARISONS, finite, type Metric } from '../../stores/metric.js'
import type { Voter } from './fuse.js'

/** How near something is to the vector that is asked by, the higher the nearer; undefined where they cannot be compared. */
export type SimilarityOf<T> = (of: T) => number | undefined

/** Compares vectors with one that is asked by, exactly and as stores of ours do. One of another width cannot be compared. */
export function comparing(
  query: readonly number[],
  metric: Metric,
): SimilarityOf<readonly number[]> {
  const { prepare, similarity } = COMPARISONS[metric]
  const prepared = prepare(query)
  return (vector) =>
    vector.length === query.length ? finite(similarity(prepared, prepare(vector), 0)) : undefined
}

/** How near the records of one answer are: as its upstream told beside them, or as their vectors say. */
export function nearnessIn(
  result: ResultOf<'memory/recall'> | undefined,
  compare: SimilarityOf<readonly number[]>,
): SimilarityOf<MemoryRecord> {
  const told = result?.[EXTENSION]?.similarities
  if (told === undefined) return ({ embedding }) => embedding && compare(embedding)
  const known = new Map(result?.records.map((record, index) => [record, told[index]]))
  return (record) => known.get(record) ?? undefined
}

export interface VectorVoterOptions {
  readonly weight: number
  readonly similarityOf: SimilarityOf<MemoryRecord>
}

/** The gateway's own exact ranking of all candidates by the caller's vector; undefined where it has no weight. */
export function vectorVoter({ weight, similarityOf }: VectorVoterOptions): Voter | undefined {
  if (weight === 0) return undefined
  return {
    name: 'vector',
    weight,
    rank: (candidates) => rankBySimilarity(candidates.map(similarityOf)),
  }
}

/** Indices of those that are known, the highest first, equal ones in their order. */
export function rankBySimilarity(similarities: readonly (number | undefined)[]): number[] {
  const of = (index: number): number => similarities[index] ?? 0
  const comparable = [...similarities.keys()].filter((index) => similarities[index] !== undefined)
  return comparable.sort((a, b) => of(b) - of(a) || a - b)
}
