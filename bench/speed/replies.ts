import type { Prose } from './prose.js'

/** What is prebuilt of each length and dealt in turn. */
const VARIANTS = 32
const WRITTEN_AT = '2026-03-01T09:30:00.000Z'

/** What records are made of: their texts, the upstream's name, and whose they are, if anybody's. */
export interface Records {
  readonly prose: Prose
  readonly name: string
  readonly owner: string | undefined
}

/** Results of recall as JSON, without anything searched. */
export interface Replies {
  recall(limit: number): string
}

/** The same `VARIANTS` results again and again, printed once. */
export class RepeatedReplies implements Replies {
  readonly #made = new Map<number, readonly string[]>()
  readonly #fresh: FreshReplies
  #turn = 0

  constructor(records: Records) {
    this.#fresh = new FreshReplies(records)
  }

  recall(limit: number): string {
    const made = this.#made.get(limit) ?? this.#make(limit)
    return made[this.#turn++ % VARIANTS] ?? ''
  }

  #make(limit: number): readonly string[] {
    const made = Array.from({ length: VARIANTS }, () => this.#fresh.recall(limit))
    this.#made.set(limit, made)
    return made
  }
}

/** Records that nobody has seen before in every result. */
export class FreshReplies implements Replies {
  readonly #records: Records
  readonly #owner: string
  #count = 0

  constructor(records: Records) {
    this.#records = records
    this.#owner = records.owner === undefined ? '' : `"owner":"${records.owner}",`
  }

  recall(limit: number): string {
    const records = Array.from({ length: limit }, (_, place) => this.#record(place))
    return `{"records":[${records.join(',')}]}`
  }

  /** The prose holds nothing that JSON would escape. */
  #record(place: number): string {
    const number = ++this.#count
    const { prose, name } = this.#records
    const metadata = `{"source":"${name}","page":${number % 400},"tags":["imported","reviewed"],"checksum":90071992547${number}}`
    const score = (1 - place / 100).toFixed(2)
    return `{"id":"${name}-${number}","content":"${prose.record()}","created_at":"${WRITTEN_AT}","role":"memory","metadata":${metadata},${this.#owner}"score":${score}}`
  }
}
