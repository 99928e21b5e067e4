import { messageOf } from '../protocol/errors.js'
import type { UsageEvent } from './event.js'
import type { Ledger } from './ledger.js'

/** Somewhere that usage events go to, each at least once and in the order in which the ledger took them. */
export interface Sink {
  /** Under which its place is kept; two sinks of one gateway have two names. */
  readonly name: string
  /** The most events that are given to it at once. */
  readonly batch: number
  /** Rejects where it has not taken all of them; it is then given them again. Returns how many it will never take. */
  send(events: readonly UsageEvent[]): Promise<number>
}

/** How a sink is doing. `lagMs` is the age of the oldest event that it has not got. */
export interface SinkNews {
  readonly sink: string
  readonly delivered: number
  readonly refused: number
  readonly lagMs: number
  /** Why the last try came to nothing, for people; undefined where it did not. */
  readonly failure: string | undefined
}

export interface DeliveryOptions {
  readonly ledger: Ledger
  readonly sink: Sink
  readonly now: () => number
  /** A number from 0 to 1. */
  readonly random: () => number
  readonly news: (news: SinkNews) => void
}

const FIRST_PAUSE_MS = 1000
const LONGEST_PAUSE_MS = 60_000

/** Takes events from the ledger to one sink whenever there are new ones. A sink that is down is tried again, ever more rarely. */
export class Delivery {
  readonly #options: DeliveryOptions
  readonly #lanes = new Set<string>()
  #running: Promise<void> | undefined
  #again = false
  #failures = 0
  /** When the oldest event that it was last given came in. */
  #oldest: number | undefined
  #timer: NodeJS.Timeout | undefined
  #ended = false

  constructor(options: DeliveryOptions) {
    this.#options = options
  }

  /** There may be new events of a lane. */
  wake(lane: string): void {
    this.#lanes.add(lane)
    if (this.#timer === undefined) this.#start()
  }

  /** Takes there what is new, unless the sink is down. */
  async end(): Promise<void> {
    this.#ended = true
    clearTimeout(this.#timer)
    await this.#running
    if (this.#failures === 0) await this.#run()
  }

  #start(): void {
    if (this.#ended) return
    this.#again = true
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
  }

  async #run(): Promise<void> {
    try {
      do {
        this.#again = false
        for (const lane of this.#lanes) await this.#deliver(lane)
      } while (this.#again)
      this.#failures = 0
    } catch (thrown) {
      this.#pause(messageOf(thrown))
    }
  }

  async #deliver(lane: string): Promise<void> {
    const { ledger, sink, now, news } = this.#options
    let cursor = await ledger.cursor(lane, sink.name)
    for (;;) {
      const found = await ledger.after(lane, cursor, sink.batch)
      const [first] = found
      if (first === undefined) return
      this.#oldest = first.event.at
      const refused = await sink.send(found.map(({ event }) => event))
      cursor = found.at(-1)?.seq ?? cursor
      await ledger.moveCursor(lane, sink.name, cursor)
      const delivered = found.length - refused
      const lagMs = found.length < sink.batch ? 0 : Math.max(0, now() - first.event.at)
      news({ sink: sink.name, delivered, refused, lagMs, failure: undefined })
    }
  }

  #pause(failure: string): void {
    const { sink, now, random, news } = this.#options
    const lagMs = this.#oldest === undefined ? 0 : Math.max(0, now() - this.#oldest)
    news({ sink: sink.name, delivered: 0, refused: 0, lagMs, failure })
    const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#failures)
    this.#failures = Math.min(this.#failures + 1, 16)
    if (this.#ended) return
    const wait = longest * (0.5 + random() / 2)
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#start()
    }, wait)
    this.#timer.unref()
  }
}
