/** A number from 0 to below 1. */
export type Random = () => number

/** The same numbers for the same seed (mulberry32). */
export function createRandom(seed: number): Random {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

const CONSONANTS = 'bdfgklmnprtvz'
const VOWELS = 'aiou'

/** Words that come as often as those of a language do: the one of rank r about 1/r as often as the commonest. */
export class Zipf {
  readonly #vocabulary: number
  readonly #random: Random

  constructor(vocabulary: number, random: Random) {
    this.#vocabulary = vocabulary
    this.#random = random
  }

  text(words: number): string {
    const spread = Math.log(this.#vocabulary)
    const ranks = Array.from(
      { length: words },
      () => Math.floor(Math.exp(this.#random() * spread)) - 1,
    )
    return ranks.map((rank) => this.word(rank)).join(' ')
  }

  /** The word of a rank from 0; made of syllables, so that a stemmer has something to do. */
  word(rank: number): string {
    let word = ''
    for (let left = rank + 1; left > 0; ) {
      word += CONSONANTS.charAt(left % 13)
      left = Math.floor(left / 13)
      word += VOWELS.charAt(left % 4)
      left = Math.floor(left / 4)
    }
    return word
  }

  below(limit: number): number {
    return Math.floor(this.#random() * limit)
  }

  /** The rank from which on a word is in at most that share of texts of 60 words. */
  rankOf(share: number): number {
    return Math.ceil(60 / (Math.log(this.#vocabulary) * share))
  }
}
