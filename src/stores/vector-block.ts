import type { Comparison } from './metric.js'

const FIRST_VECTORS = 16
const BYTES_PER_NUMBER = 8

/** The vectors of one partition side by side in memory, prepared for one comparison, so that a scan reads nothing else. */
export class VectorBlock {
  readonly #comparison: Comparison
  readonly #width: number
  #numbers: Float64Array
  /** The row of each vector, in their order. */
  readonly #rows: number[] = []
  readonly #places = new Map<number, number>()

  /** `room` is for how many vectors there is to be space at first. */
  constructor(comparison: Comparison, width: number, room: number) {
    this.#comparison = comparison
    this.#width = width
    this.#numbers = new Float64Array(Math.max(room, FIRST_VECTORS) * width)
  }

  get bytes(): number {
    return this.#numbers.length * BYTES_PER_NUMBER
  }

  /** Puts a row's vector in, or another in its place. */
  set(row: number, vector: ArrayLike<number>): void {
    const place = this.#places.get(row) ?? this.#append(row)
    this.#numbers.set(this.#comparison.prepare(vector), place * this.#width)
  }

  /** The last one takes the place of one that goes. */
  delete(row: number): void {
    const place = this.#places.get(row)
    const last = this.#rows.pop()
    if (place === undefined || last === undefined) {
      if (last !== undefined) this.#rows.push(last)
      return
    }
    this.#places.delete(row)
    if (last === row) return
    const from = this.#rows.length * this.#width
    this.#numbers.copyWithin(place * this.#width, from, from + this.#width)
    this.#rows[place] = last
    this.#places.set(last, place)
  }

  /** Tells each row and how similar it is to a prepared query. */
  scan(query: Float64Array, tell: (row: number, similarity: number) => void): void {
    for (const [place, row] of this.#rows.entries()) {
      tell(row, this.#comparison.similarity(query, this.#numbers, place * this.#width))
    }
  }

  #append(row: number): number {
    const place = this.#rows.push(row) - 1
    this.#places.set(row, place)
    if (this.#rows.length * this.#width > this.#numbers.length) {
      const grown = new Float64Array(this.#numbers.length * 2)
      grown.set(this.#numbers)
      this.#numbers = grown
    }
    return place
  }
}
