import { messageOf } from '../protocol/errors.js'
import type { Accounting } from './accounting.js'
import type { Waiting } from './segments.js'
import type { Spool } from './spool.js'
import type { Taken } from './take.js'

/** What clearing tells of. Must not throw. */
export interface ClearingEvents {
  /** Events that were new to the ledger, and lines that a crash had torn. */
  cleared(added: number, torn: number): void
  /** Somebody has removed a file of so many bytes before they were in the ledger. */
  removed(bytes: number): void
  /** The ledger cannot be reached or written from here on; `undefined` once it can again. */
  failing(reason: string | undefined): void
}

export interface ClearingOptions {
  readonly spool: Spool
  readonly accounting: Accounting
  readonly everyMs: number
  readonly events: ClearingEvents
}

const LONGEST_PAUSE_MS = 30_000

/** Brings what is in the spool into the ledger, a round every now and then. While that fails, ever more rarely. */
export class Clearing {
  readonly #options: ClearingOptions
  #timer: NodeJS.Timeout | undefined
  #round: Promise<void> | undefined
  #failures = 0
  #ended = false

  constructor(options: ClearingOptions) {
    this.#options = options
  }

  start(): void {
    this.#plan(0)
  }

  /** A round that begins after this call; resolves when it is over, however it went. */
  async now(): Promise<void> {
    await this.#round
    await this.#run()
  }

  /** One last round. */
  async end(): Promise<void> {
    this.#ended = true
    clearTimeout(this.#timer)
    await this.now()
  }

  #plan(wait: number): void {
    if (this.#ended) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#run(), wait)
    this.#timer.unref()
  }

  #run(): Promise<void> {
    this.#round ??= this.#clear().finally(() => {
      this.#round = undefined
      const { everyMs } = this.#options
      const pause = everyMs * 2 ** Math.min(this.#failures, 16)
      this.#plan(Math.max(everyMs, Math.min(pause, LONGEST_PAUSE_MS)))
    })
    return this.#round
  }

  async #clear(): Promise<void> {
    try {
      await this.#takeAll()
      if (this.#failures > 0) this.#options.events.failing(undefined)
      this.#failures = 0
    } catch (thrown) {
      const reason = messageOf(thrown)
      if (this.#failures === 0) this.#options.events.failing(reason)
      this.#failures++
    }
  }

  async #takeAll(): Promise<void> {
    const { spool, events } = this.#options
    for (const segment of spool.rotate()) {
      const taken = await this.#take(segment)
      if (taken === undefined) continue
      spool.remove(segment)
      events.cleared(taken.added, taken.torn)
    }
  }

  /** Undefined where there is nothing left to take. */
  async #take(segment: Waiting): Promise<Taken | undefined> {
    const { spool, accounting, events } = this.#options
    try {
      return await accounting.take(segment.lane, segment)
    } catch (thrown) {
      if (!spool.dropMissing(segment)) throw thrown
      events.removed(segment.bytes)
      return undefined
    }
  }
}
