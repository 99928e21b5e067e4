/** Rows are spread by their sums over so many buckets, so that only the buckets that are looked at need sorting. */
const BUCKETS = 1024
const FIRST_SLOTS = 1024
/** Knuth's multiplier, which scatters neighbouring rows. */
const SCATTER = 0x9e3779b1

/**
 * Adds numbers above 0 up by row: an open hash in flat arrays, because a search adds tens of thousands and an object for
 * each would cost more than all the rest. Rows are positive integers.
 */
export class Sums {
  #rows = new Float64Array(FIRST_SLOTS)
  #sums = new Float64Array(FIRST_SLOTS)
  #size = 0

  add(row: number, value: number): void {
    const slot = this.#slotOf(row)
    if (this.#rows[slot] === 0) {
      this.#rows[slot] = row
      this.#size++
    }
    this.#sums[slot] = (this.#sums[slot] ?? 0) + value
    if (this.#size * 2 > this.#rows.length) this.#grow()
  }

  /** The rows by descending sum, of equal sums the later row first; sorted only as far as it is walked. */
  *descending(): Generator<number> {
    const buckets = this.#spread()
    for (let bucket = buckets.pop(); bucket !== undefined; bucket = buckets.pop()) {
      bucket.sort((left, right) => this.#order(left, right))
      for (const slot of bucket) yield this.#rows[slot] ?? 0
    }
  }

  #slotOf(row: number): number {
    const rows = this.#rows
    const mask = rows.length - 1
    let slot = Math.imul(row, SCATTER) & mask
    while (rows[slot] !== row && rows[slot] !== 0) slot = (slot + 1) & mask
    return slot
  }

  #grow(): void {
    const rows = this.#rows
    const sums = this.#sums
    this.#rows = new Float64Array(rows.length * 4)
    this.#sums = new Float64Array(rows.length * 4)
    for (let old = 0; old < rows.length; old++) {
      const row = rows[old] ?? 0
      if (row === 0) continue
      const slot = this.#slotOf(row)
      this.#rows[slot] = row
      this.#sums[slot] = sums[old] ?? 0
    }
  }

  #spread(): number[][] {
    const buckets: number[][] = Array.from({ length: BUCKETS }, () => [])
    const sums = this.#sums
    let most = 0
    for (let slot = 0; slot < sums.length; slot++) most = Math.max(most, sums[slot] ?? 0)
    const scale = (BUCKETS - 1) / most
    for (let slot = 0; slot < sums.length; slot++) {
      const sum = sums[slot] ?? 0
      if (sum > 0) buckets[Math.floor(sum * scale)]?.push(slot)
    }
    return buckets
  }

  #order(left: number, right: number): number {
    const difference = (this.#sums[right] ?? 0) - (this.#sums[left] ?? 0)
    return difference || (this.#rows[right] ?? 0) - (this.#rows[left] ?? 0)
  }
}
