import type { Accounting } from './accounting.js'
import type { Lane } from './lane.js'
import type { Spool } from './spool.js'

/** What clearing tells of. Must not throw. */
export interface ClearingEvents {
  /** Events that were new to the ledger, and lines that a crash had torn. */
  cleared(added: number, torn: number): void
  /** The ledger cannot be reached or written from here on; `undefined` once it can again. */
  failing(reason: string | undefined): void
}

export interface ClearingOptions {
  readonly spool: Spool
  readonly accounting: Accounting
  /** The lane of the spool; throws while it cannot be had. */
  readonly lane: () => Lane
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
      const reason = thrown instanceof Error ? thrown.message : String(thrown)
      if (this.#failures === 0) this.#options.events.failing(reason)
      this.#failures++
    }
  }

  async #takeAll(): Promise<void> {
    const { spool, accounting, lane, events } = this.#options
    for (const segment of spool.rotate()) {
      const { added, torn } = await accounting.take(lane().id, segment)
      spool.remove(segment)
      events.cleared(added, torn)
    }
  }
}
