import type { Terms } from './terms.js'

/** How common terms are, as far as one owner's texts have shown it. A value: it does not change under a ranking. */
export interface Frequencies {
  readonly texts: number
  /** Terms a text, on average; 0 while there are none. */
  readonly averageLength: number
  /** In how many texts a term occurred. */
  of(hash: number): number
}

/** How many distinct terms are kept; beyond it those seen once go, as an unknown term counts as rare anyway. */
const MOST_TERMS = 65_536
const HEADER_BYTES = 12
const ENTRY_BYTES = 8

/** Where a value is, or would be, among ascending ones. */
function lowerBound(ascending: Int32Array, value: number): number {
  let from = 0
  let to = ascending.length
  while (from < to) {
    const middle = (from + to) >>> 1
    if ((ascending[middle] ?? 0) < value) from = middle + 1
    else to = middle
  }
  return from
}

/** Learns in how many texts each term occurs. Bounded (three megabytes); rankings read frozen snapshots of it. */
export class Background {
  #texts = 0
  #length = 0
  #frequencies = new Map<number, number>()
  #changed = false

  /** Texts learnt so far. */
  get texts(): number {
    return this.#texts
  }

  /** Whether it has learnt since it was last written out. */
  get changed(): boolean {
    return this.#changed
  }

  learn(terms: Terms): void {
    this.#texts++
    this.#length += terms.length
    this.#changed = true
    for (const hash of terms.hashes)
      this.#frequencies.set(hash, (this.#frequencies.get(hash) ?? 0) + 1)
    if (this.#frequencies.size > MOST_TERMS) this.#thin()
  }

  /** Half a megabyte at the most. */
  snapshot(): Frequencies {
    const hashes = Int32Array.from(this.#frequencies.keys()).sort()
    const found = Uint32Array.from(hashes, (hash) => this.#frequencies.get(hash) ?? 0)
    return {
      texts: this.#texts,
      averageLength: this.#texts === 0 ? 0 : this.#length / this.#texts,
      of(hash) {
        const place = lowerBound(hashes, hash)
        return hashes[place] === hash ? (found[place] ?? 0) : 0
      },
    }
  }

  /** As bytes: texts (uint32), total length (double), then hash (int32) and frequency (uint32) of every term. */
  write(): Uint8Array {
    const bytes = Buffer.alloc(HEADER_BYTES + this.#frequencies.size * ENTRY_BYTES)
    bytes.writeUInt32LE(this.#texts, 0)
    bytes.writeDoubleLE(this.#length, 4)
    let at = HEADER_BYTES
    for (const [hash, frequency] of this.#frequencies) {
      bytes.writeInt32LE(hash, at)
      bytes.writeUInt32LE(frequency, at + 4)
      at += ENTRY_BYTES
    }
    this.#changed = false
    return bytes
  }

  /** Brings back what `write` made; bytes of another shape give an empty one, which learns anew. */
  static read(bytes: Uint8Array): Background {
    const background = new Background()
    const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    if (view.length < HEADER_BYTES || (view.length - HEADER_BYTES) % ENTRY_BYTES !== 0)
      return background
    background.#texts = view.readUInt32LE(0)
    background.#length = view.readDoubleLE(4)
    for (let at = HEADER_BYTES; at < view.length; at += ENTRY_BYTES) {
      background.#frequencies.set(view.readInt32LE(at), view.readUInt32LE(at + 4))
    }
    return background
  }

  #thin(): void {
    for (const [hash, frequency] of this.#frequencies) {
      if (frequency === 1) this.#frequencies.delete(hash)
      else this.#frequencies.set(hash, frequency >> 1)
    }
    this.#texts >>= 1
    this.#length /= 2
  }
}
