import { createRandom, type Random, Zipf } from '../zipf.js'

const VOCABULARY = 20_000
const SENTENCES = 6_000

/** English-like prose: words as frequent as in a language, in sentences, that are dealt anew for every text. */
export class Prose {
  readonly #random: Random
  readonly #sentences: readonly string[]

  constructor(seed: number) {
    this.#random = createRandom(seed)
    const zipf = new Zipf(VOCABULARY, this.#random)
    this.#sentences = Array.from({ length: SENTENCES }, () => sentence(zipf))
  }

  /** A text of at least `characters` and less than a sentence more; in practice never the same twice. */
  text(characters: number): string {
    let text = ''
    while (text.length < characters) text += this.#pick(this.#sentences)
    return text
  }

  /** A text of 500 to about 1,000 characters. */
  record(): string {
    return this.text(500 + this.#random() * 420)
  }

  question(): string {
    return this.#pick(this.#sentences).trim().toLowerCase().replace('.', '?')
  }

  #pick(from: readonly string[]): string {
    return from[Math.floor(this.#random() * from.length)] ?? ''
  }
}

function sentence(zipf: Zipf): string {
  const words = zipf.text(8 + zipf.below(8))
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}. `
}
