import type { Question } from './collection.js'

/** How many places count. */
export const DEPTH = 10

/** Means over all questions. */
export interface Quality {
  /** Normalized discounted cumulative gain: gain is the grade, the discount log2(rank + 1). */
  readonly ndcg: number
  /** The part of all that is relevant that was found. */
  readonly recall: number
}

/** Rates answers, each the ids that one question gave, best first; in the order of the questions. */
export function rate(
  questions: readonly Question[],
  answers: readonly (readonly string[])[],
): Quality {
  const rated = questions.map(({ relevant }, index) => {
    const found = (answers[index] ?? []).slice(0, DEPTH)
    return { ndcg: ndcg(relevant, found), recall: hits(relevant, found) / relevant.size }
  })
  const mean = (of: keyof Quality): number =>
    rated.reduce((sum, one) => sum + one[of], 0) / rated.length
  return { ndcg: mean('ndcg'), recall: mean('recall') }
}

function ndcg(relevant: ReadonlyMap<string, number>, found: readonly string[]): number {
  const ideal = [...relevant.values()].sort((a, b) => b - a).slice(0, DEPTH)
  return discounted(found.map((id) => relevant.get(id) ?? 0)) / discounted(ideal)
}

function discounted(gains: readonly number[]): number {
  return gains.reduce((sum, gain, index) => sum + gain / Math.log2(index + 2), 0)
}

function hits(relevant: ReadonlyMap<string, number>, found: readonly string[]): number {
  return found.filter((id) => relevant.has(id)).length
}
