import type { MemoryRecord } from '../protocol/records.js'
import { COMPARISONS, type Metric } from '../stores/metric.js'
import type { Voter } from './fuse.js'

/** Undefined where a record has no vector, or none that can be compared. */
type VectorOf = (record: MemoryRecord) => readonly number[] | undefined

export interface VectorVoterOptions {
  readonly weight: number
  readonly metric: Metric
  readonly vector: readonly number[]
  readonly vectorOf: VectorOf
}

/** The gateway's own exact comparison of all candidates with the caller's vector; undefined where it has no weight. */
export function vectorVoter({
  weight,
  metric,
  vector,
  vectorOf,
}: VectorVoterOptions): Voter | undefined {
  if (weight === 0) return undefined
  return {
    name: 'vector',
    weight,
    rank: (candidates) => rankByVectors(candidates.map(vectorOf), vector, metric),
  }
}

/**
 * Indices of the vectors that are as wide as the query, the most similar first, of equally similar ones in their order; those
 * that nothing can be said of, such as zero by angle, are the last.
 */
export function rankByVectors(
  vectors: readonly (readonly number[] | undefined)[],
  query: readonly number[],
  metric: Metric,
): number[] {
  const comparison = COMPARISONS[metric]
  const prepared = comparison.prepare(query)
  const similarities = vectors.map((vector) =>
    vector?.length === query.length
      ? comparison.similarity(prepared, comparison.prepare(vector), 0)
      : undefined,
  )
  const of = (index: number): number => similarities[index] ?? Number.NEGATIVE_INFINITY
  const comparable = [...similarities.keys()].filter((index) => similarities[index] !== undefined)
  return comparable.sort((a, b) => descending(of(a), of(b)) || a - b)
}

/** Also between two of the same infinity, whose difference is no number. */
function descending(a: number, b: number): number {
  return a === b ? 0 : b - a
}
