import type { MemoryRecord } from '../../protocol/records.js'
import type { Owner } from '../../protocol/scope.js'
import type { Frequencies } from './background.js'
import type { Backgrounds } from './backgrounds.js'
import type { Voter } from './fuse.js'
import type { TermCache, Terms } from './terms.js'

/** BM25's constants, as usual: how soon repeats stop counting, and how much a long text pays for its length. */
const K1 = 1.2
const B = 0.75

/**
 * Ranks by BM25 (Robertson and Zaragoza, 2009) of the texts against the terms of a question, with frequencies from
 * elsewhere than the texts themselves. Returns indices, best first; texts without any of the terms are left out.
 */
export function rankByTerms(
  texts: readonly Terms[],
  query: readonly number[],
  frequencies: Frequencies,
): number[] {
  const weights = new Map(query.map((hash) => [hash, rarity(frequencies, hash)]))
  const average = frequencies.averageLength || meanLength(texts)
  const scores = texts.map((terms) => score(terms, weights, average))
  const matching = [...scores.keys()].filter((index) => (scores[index] ?? 0) > 0)
  return matching.sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b)
}

function rarity(frequencies: Frequencies, hash: number): number {
  const found = Math.min(frequencies.of(hash), frequencies.texts)
  return Math.log(1 + (frequencies.texts - found + 0.5) / (found + 0.5))
}

function score(terms: Terms, weights: ReadonlyMap<number, number>, average: number): number {
  const { hashes, counts, length } = terms
  const damping = K1 * (1 - B + (B * length) / average)
  let sum = 0
  for (let index = 0; index < hashes.length; index++) {
    const weight = weights.get(hashes[index] ?? 0)
    if (weight === undefined) continue
    const count = counts[index] ?? 0
    sum += (weight * count * (K1 + 1)) / (count + damping)
  }
  return sum
}

function meanLength(texts: readonly Terms[]): number {
  return texts.reduce((sum, terms) => sum + terms.length, 0) / Math.max(1, texts.length) || 1
}

export interface LexicalOptions {
  readonly weight: number
  readonly terms: TermCache
  readonly backgrounds: Backgrounds
}

/** The name under which an owner's texts are learnt; it begins every key of what is remembered of them. */
function partition(owner: Owner): string {
  return owner === undefined ? 'any' : owner === null ? 'none' : `owner:${owner}`
}

/** The gateway's own voter over contents, and what it learns from the texts that pass through for an owner. */
export class Lexical {
  readonly #options: LexicalOptions

  constructor(options: LexicalOptions) {
    this.#options = options
  }

  /** The voter for one question of one owner; undefined where it has no weight or the question no terms. */
  voter(owner: Owner, query: string): Voter | undefined {
    const { weight, terms, backgrounds } = this.#options
    if (weight === 0) return undefined
    const wanted = terms.query(query)
    if (wanted.length === 0) return undefined
    const frequencies = backgrounds.snapshotFor(partition(owner), query)
    return {
      name: 'lexical',
      weight,
      rank: (candidates) => rankByTerms(this.#read(owner, candidates), wanted, frequencies),
    }
  }

  /** Learns from texts that are written, so that frequencies are there before the first question. */
  learn(owner: Owner, contents: Iterable<string>): void {
    if (this.#options.weight === 0) return
    for (const content of contents) this.#terms(owner, content)
  }

  close(): void {
    this.#options.backgrounds.close()
  }

  #read(owner: Owner, candidates: readonly MemoryRecord[]): Terms[] {
    return candidates.map(({ content }) => this.#terms(owner, content))
  }

  #terms(owner: Owner, content: string): Terms {
    const { terms, backgrounds } = this.#options
    const name = partition(owner)
    return terms.terms(name, content, (made) => backgrounds.learn(name, made))
  }
}
