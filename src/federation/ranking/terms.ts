import { LRUCache } from 'lru-cache'
import type { Tokenizer } from '../../text/tokenizer.js'

/** The terms of one text as numbers: each distinct term's hash once, and how often it occurs. */
export interface Terms {
  readonly hashes: Int32Array
  readonly counts: Uint16Array
  /** All terms, repeats included. */
  readonly length: number
}

/** How many texts keep their terms, and the bytes that they may take together, texts included. */
const REMEMBERED_TEXTS = 20_000
const REMEMBERED_BYTES = 64 << 20
/** Repeats beyond it make no difference to any ranking. */
const MOST_REPEATS = 0xffff

/** 32-bit FNV-1a over UTF-16 units, signed, since V8 keeps such numbers without a box; two terms that collide count as one. */
export function hashTerm(term: string): number {
  let hash = 0x811c9dc5 | 0
  for (let index = 0; index < term.length; index++) {
    hash = Math.imul(hash ^ term.charCodeAt(index), 0x01000193)
  }
  return hash
}

/** Cuts texts into terms once: the terms of a text that was seen lately are kept, under its owner's name. */
export class TermCache {
  readonly #tokenizer: Tokenizer
  readonly #cache = new LRUCache<string, Terms>({
    max: REMEMBERED_TEXTS,
    maxSize: REMEMBERED_BYTES,
    sizeCalculation: ({ hashes, counts }, key) =>
      hashes.byteLength + counts.byteLength + 2 * key.length,
  })

  constructor(tokenizer: Tokenizer) {
    this.#tokenizer = tokenizer
  }

  /** The terms of a text to be found. `onFirst` is called where they had to be made. */
  terms(owner: string, text: string, onFirst: (terms: Terms) => void): Terms {
    const key = `${owner.length}\0${owner}${text}`
    const known = this.#cache.get(key)
    if (known !== undefined) return known
    const terms = count(this.#tokenizer.index(text))
    this.#cache.set(key, terms)
    onFirst(terms)
    return terms
  }

  /** The distinct terms to look for. */
  query(text: string): readonly number[] {
    return [...new Set(this.#tokenizer.query(text).map(hashTerm))]
  }
}

function count(terms: readonly string[]): Terms {
  const counts = new Map<number, number>()
  for (const term of terms) {
    const hash = hashTerm(term)
    counts.set(hash, (counts.get(hash) ?? 0) + 1)
  }
  const hashes = new Int32Array(counts.size)
  const repeats = new Uint16Array(counts.size)
  let place = 0
  for (const [hash, count] of counts) {
    hashes[place] = hash
    repeats[place++] = Math.min(count, MOST_REPEATS)
  }
  return { hashes, counts: repeats, length: terms.length }
}
