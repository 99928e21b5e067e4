import type { CryptoKey, JWSHeaderParameters } from 'jose'
import { messageOf } from '../protocol/errors.js'
import type { Clock } from '../protocol/time.js'

/** Picks the one key that a token's header means. Rejects with an error of jose's where there is none. */
export type SelectKey = (header: JWSHeaderParameters) => Promise<CryptoKey>

/** What is told of a key set, for logs and metrics. Must not throw. */
export interface KeySetEvents {
  readonly read: () => void
  /** `keys` says whether tokens are checked with the last good keys meanwhile, or refused. */
  readonly failed: (reason: string, keys: 'last_good' | 'none') => void
}

export interface KeySetOptions {
  /** Gives the set as its issuer publishes it. Rejects with an Error whose message is for people. */
  readonly read: () => Promise<string>
  /** Throws an Error whose message is for people where a text is no key set. */
  readonly parse: (text: string) => SelectKey
  readonly clock: Pick<Clock, 'monotonic'>
  /** Ms in which keys are believed, and how much longer while they cannot be read. */
  readonly cache: number
  readonly stale: number
  /** The shortest time between two readings for the sake of a key that is not there, in ms. */
  readonly cooldown: number
  readonly events: KeySetEvents
}

/** The part of their time after which keys are read anew in the background, so that nobody has to wait for it. */
const EARLY = 0.8
/** The pause after a first failure, in ms; it doubles with each further one, up to the cool-down. */
const FIRST_PAUSE = 1000

/**
 * The public keys of one issuer, read when they are asked for. One reading at a time, however many wait for it. Keys that
 * cannot be read anew are used on for a stated time; a key that is not there is looked for at once, but after one that was
 * not found only once in a cool-down.
 */
export class KeySet {
  readonly #options: KeySetOptions
  #select: SelectKey | undefined
  #text: string | undefined
  #generation = 0
  #readAt = Number.NEGATIVE_INFINITY
  #attempt: Promise<void> | undefined
  #failures = 0
  #failedAt = Number.NEGATIVE_INFINITY
  #missedAt = Number.NEGATIVE_INFINITY
  #reason: string | undefined

  constructor(options: KeySetOptions) {
    this.#options = options
  }

  /** A number that changes with the keys; undefined while they have to be read before anything is believed. */
  get standing(): number | undefined {
    if (this.#select === undefined) return undefined
    const { cache, stale } = this.#options
    const age = this.#age()
    if (age < cache * EARLY) return this.#generation
    const usable = age < cache || (this.#failures > 0 && age < cache + stale)
    if (!usable) return undefined
    this.#readSoon()
    return this.#generation
  }

  /** The number that `standing` gives while the keys are believed. */
  get generation(): number {
    return this.#generation
  }

  /** Why the last reading failed; undefined where it did not. */
  get reason(): string | undefined {
    return this.#reason
  }

  /** Reads the keys unless they are there. Never rejects. */
  async ready(): Promise<void> {
    if (this.standing === undefined && this.#mayRead()) await this.#read()
  }

  /** The key that a header means. Rejects where it is not there. */
  async keyFor(header: JWSHeaderParameters): Promise<CryptoKey> {
    await this.ready()
    try {
      return await this.#pick(header)
    } catch (thrown) {
      if (!isMissing(thrown) || !(await this.#lookAgain())) throw thrown
    }
    try {
      return await this.#pick(header)
    } catch (thrown) {
      if (isMissing(thrown)) this.#missedAt = this.#now()
      throw thrown
    }
  }

  /** Keys that were read for this call are good for it, however long that took. */
  async #pick(header: JWSHeaderParameters): Promise<CryptoKey> {
    const { cache, stale } = this.#options
    const usable = this.#failures === 0 || this.#age() < cache + stale
    if (this.#select === undefined || !usable) {
      throw new Error('the keys of the issuer are not known')
    }
    return this.#select(header)
  }

  /** A key that the issuer has made since is not known yet. Says whether it was looked for. */
  async #lookAgain(): Promise<boolean> {
    if (this.#now() - this.#missedAt < this.#options.cooldown) return false
    await this.#read()
    return true
  }

  #readSoon(): void {
    if (this.#attempt === undefined && this.#mayRead()) void this.#read()
  }

  #mayRead(): boolean {
    if (this.#attempt !== undefined || this.#failures === 0) return true
    const pause = Math.min(this.#options.cooldown, FIRST_PAUSE * 2 ** (this.#failures - 1))
    return this.#now() - this.#failedAt >= pause
  }

  #read(): Promise<void> {
    this.#attempt ??= this.#readOnce().finally(() => {
      this.#attempt = undefined
    })
    return this.#attempt
  }

  async #readOnce(): Promise<void> {
    const { read, parse, events } = this.#options
    const at = this.#now()
    try {
      const text = await read()
      if (text !== this.#text) this.#take(text, parse(text))
      this.#readAt = at
      this.#failures = 0
      this.#reason = undefined
      events.read()
    } catch (thrown) {
      this.#fail(thrown)
    }
  }

  #take(text: string, select: SelectKey): void {
    this.#text = text
    this.#select = select
    this.#generation++
  }

  #fail(thrown: unknown): void {
    const { cache, stale, events } = this.#options
    this.#failures++
    this.#failedAt = this.#now()
    this.#reason = messageOf(thrown)
    const usable = this.#select !== undefined && this.#age() < cache + stale
    events.failed(this.#reason, usable ? 'last_good' : 'none')
  }

  #age(): number {
    return this.#now() - this.#readAt
  }

  #now(): number {
    return this.#options.clock.monotonic()
  }
}

function isMissing(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === 'ERR_JWKS_NO_MATCHING_KEY'
}
