import { stemmer } from 'stemmer'
import { fold } from './fold.js'

/** In UTF-16 units. A longer word is cut, so that a blob of base64 is one bounded term. */
const LONGEST_TERM = 40
/** In UTF-16 units; a query is read no further. */
const LONGEST_QUERY = 16_384
/** Distinct terms of a query; each costs a look-up, and one caller's must not take the others' time. */
const MOST_QUERY_TERMS = 512
/** Words whose terms a tokenizer remembers, in each of two generations. */
const REMEMBERED = 20_000

// biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII is what is tested for
const ASCII = /^[\x00-\x7f]*$/
const ASCII_WORD = /[a-z0-9]+/g
const WORD = /[\p{L}\p{N}\p{M}]+/gu
const ENGLISH = /^[a-z]+$/
const SOFT_HYPHEN = /\u00ad/g
/** Dashes, quotes and dots, without which most English prose is ASCII. */
const TYPOGRAPHIC = /[\u2010-\u2027\u2030-\u205e]/g
/** Written without spaces between words, and so cut into pairs of characters. */
const UNSPACED =
  /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]+/u
const RUNS = new RegExp(`(${UNSPACED.source})`, 'u')

/**
 * Cuts text of any script into the terms that it is searched by: lower case, folded, English words stemmed. A term holds
 * letters, digits and marks alone.
 */
export class Tokenizer {
  #young = new Map<string, string>()
  #old = new Map<string, string>()

  /** The terms of a text to be found, in order and with repeats; unspaced scripts give single characters and pairs. */
  index(text: string): string[] {
    return this.#terms(text, singlesAndPairs)
  }

  /**
   * The terms to look for; unspaced scripts give pairs, or the single character where it stands alone. A long query counts
   * with its first 16,384 characters, and with 512 distinct terms of them.
   */
  query(text: string): string[] {
    return firstDistinct(this.#terms(text.slice(0, LONGEST_QUERY), pairs), MOST_QUERY_TERMS)
  }

  #terms(text: string, cut: (run: string) => string[]): string[] {
    const bare = ASCII.test(text) ? text : text.replace(TYPOGRAPHIC, ' ').replace(SOFT_HYPHEN, '')
    if (ASCII.test(bare)) return this.#spaced(bare.toLowerCase().match(ASCII_WORD))
    const plain = bare.normalize('NFKC').toLowerCase()
    const words = plain.match(WORD)
    return words !== null && UNSPACED.test(plain) ? this.#mixed(words, cut) : this.#spaced(words)
  }

  #spaced(words: readonly string[] | null): string[] {
    const terms: string[] = []
    for (const word of words ?? []) {
      const term = this.#term(word)
      if (term !== '') terms.push(term)
    }
    return terms
  }

  /** Splitting by a captured pattern puts the unspaced runs at the odd places. */
  #mixed(words: readonly string[], cut: (run: string) => string[]): string[] {
    return words.flatMap((word) =>
      word.split(RUNS).flatMap((run, place) => {
        if (place % 2 === 1) return cut(run)
        return run === '' ? [] : this.#spaced([run])
      }),
    )
  }

  #term(word: string): string {
    const known = this.#young.get(word)
    if (known !== undefined) return known
    const term = this.#old.get(word) ?? makeTerm(word)
    if (word.length <= LONGEST_TERM) this.#remember(word, term)
    return term
  }

  #remember(word: string, term: string): void {
    if (this.#young.size >= REMEMBERED) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(word, term)
  }
}

function makeTerm(word: string): string {
  const folded = ASCII.test(word) ? word : fold(word)
  if (folded.length > LONGEST_TERM) return cutShort(folded)
  return ENGLISH.test(folded) ? stemmer(folded) : folded
}

/** Never through the middle of a surrogate pair. */
function cutShort(word: string): string {
  const cut = word.slice(0, LONGEST_TERM)
  return /[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut
}

function pairs(run: string): string[] {
  const characters = [...run]
  if (characters.length === 1) return characters
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`)
}

function singlesAndPairs(run: string): string[] {
  const characters = [...run]
  return characters.length === 1 ? characters : [...characters, ...pairs(run)]
}

/** The terms up to where one more would be one distinct term too many. */
function firstDistinct(terms: string[], most: number): string[] {
  const seen = new Set<string>()
  const end = terms.findIndex((term) => seen.add(term).size > most)
  return end < 0 ? terms : terms.slice(0, end)
}
