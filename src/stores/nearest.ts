import type { Ranked } from './search.js'
import type { Selected, Selection } from './selection.js'
import type { Vectors } from './vectors.js'

/** The nearest `limit` records of a selection to a vector, nearest first, by comparing it with every one; it may be infinite. */
export function nearest(
  vectors: Vectors,
  vector: readonly number[],
  { selection, limit }: { readonly selection: Selection; readonly limit: number },
): readonly Ranked[] {
  const query = vectors.comparison.prepare(vector)
  const few = selection.few()
  const distances = few ? amongFew(vectors, query, few) : amongAll(vectors, query, selection)
  const near: Ranked[] = []
  for (const { row, similarity } of distances.descending()) {
    const one = selection.at(row)
    if (one === undefined) continue
    if (near.push({ one, score: vectors.comparison.score(similarity) }) >= limit) break
  }
  return near
}

function amongFew(vectors: Vectors, query: Float64Array, few: readonly Selected[]): Similarities {
  const similarities = new Similarities()
  for (const { row } of few) {
    const vector = vectors.of(row.seq)
    if (vector !== undefined) similarities.add(row.seq, vectors.compare(query, vector))
  }
  return similarities
}

function amongAll(vectors: Vectors, query: Float64Array, selection: Selection): Similarities {
  const similarities = new Similarities()
  vectors.refresh()
  for (const no of selection.partitions.keys()) {
    vectors.scan(no, query, (row, similarity) => similarities.add(row, similarity))
  }
  return similarities
}

/** Rows by how similar they are: a heap, so that only as many are put in order as are looked at. */
class Similarities {
  readonly #rows: number[] = []
  readonly #values: number[] = []

  add(row: number, similarity: number): void {
    this.#rows.push(row)
    this.#values.push(similarity)
  }

  /** The most similar first, of equally similar ones the later row; nothing may be added any more. */
  *descending(): Generator<{ readonly row: number; readonly similarity: number }> {
    for (let parent = this.#rows.length >> 1; parent >= 0; parent--) this.#sink(parent)
    for (;;) {
      const [row] = this.#rows
      const [similarity] = this.#values
      if (row === undefined || similarity === undefined) return
      this.#removeFirst()
      yield { row, similarity }
    }
  }

  #removeFirst(): void {
    const row = this.#rows.pop()
    const value = this.#values.pop()
    if (row === undefined || value === undefined || this.#rows.length === 0) return
    this.#rows[0] = row
    this.#values[0] = value
    this.#sink(0)
  }

  #sink(from: number): void {
    for (let place = from; ; ) {
      const left = 2 * place + 1
      let first = this.#before(left, place) ? left : place
      if (this.#before(left + 1, first)) first = left + 1
      if (first === place) return
      this.#swap(place, first)
      place = first
    }
  }

  #before(place: number, other: number): boolean {
    if (place >= this.#rows.length) return false
    const difference = (this.#values[place] ?? 0) - (this.#values[other] ?? 0)
    if (difference !== 0 && !Number.isNaN(difference)) return difference > 0
    return (this.#rows[place] ?? 0) > (this.#rows[other] ?? 0)
  }

  #swap(place: number, other: number): void {
    const [row = 0, value = 0] = [this.#rows[place], this.#values[place]]
    this.#rows[place] = this.#rows[other] ?? 0
    this.#values[place] = this.#values[other] ?? 0
    this.#rows[other] = row
    this.#values[other] = value
  }
}
