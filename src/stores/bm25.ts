/** How soon repeats of a word stop counting. */
const K1 = 2
/** How much the length of a text counts against it, from 0 to 1. */
const B = 0.75

/** What so many occurrences are worth in a text of that length: from 0 up to, but never, 1. */
export function saturation(occurrences: number, length: number, averageLength: number): number {
  const relative = averageLength > 0 ? length / averageLength : 1
  return occurrences / (occurrences + K1 * (1 - B + B * relative))
}

/** How much it says of a text that it has a term which `having` of all texts have; always above 0. */
export function rarity(having: number, texts: number): number {
  return Math.log(1 + (Math.max(texts, having) - having + 0.5) / (having + 0.5))
}

/** Scores texts against one query by BM25, as the share of the most that a text could reach: from 0 to below 1. */
export class Bm25 {
  readonly #weights: ReadonlyMap<string, number>
  readonly #averageLength: number
  readonly #most: number

  /** `weights` are the query's terms, each times its rarity. */
  constructor(weights: ReadonlyMap<string, number>, averageLength: number) {
    this.#weights = weights
    this.#averageLength = averageLength
    this.#most = [...weights.values()].reduce((sum, weight) => sum + weight, 0)
  }

  /** 0 where the text has none of the terms. */
  score(terms: readonly string[]): number {
    const counts = new Map<string, number>()
    for (const term of terms) {
      if (this.#weights.has(term)) counts.set(term, (counts.get(term) ?? 0) + 1)
    }
    let sum = 0
    for (const [term, count] of counts) {
      const weight = this.#weights.get(term) ?? 0
      sum += weight * saturation(count, terms.length, this.#averageLength)
    }
    return this.#most > 0 ? sum / this.#most : 0
  }
}
