export interface NightlyOptions {
  /** From which hour of the day on, in UTC. */
  readonly hour: number
  readonly now: () => number
  /** A number from 0 to 1. */
  readonly random: () => number
  readonly task: () => Promise<void>
}

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
/** A clock that is set, or a machine that slept, is noticed within this time. */
const LOOK_MS = 60_000

/** Does something once a night, at a moment of its own within an hour, so that many gateways do not do it all at once. */
export class Nightly {
  readonly #options: NightlyOptions
  readonly #offset: number
  #timer: NodeJS.Timeout | undefined
  #last: number
  #running: Promise<void> | undefined

  constructor(options: NightlyOptions) {
    const { hour, random, now } = options
    this.#options = options
    this.#offset = (hour + random()) * HOUR_MS
    this.#last = this.#night(now())
  }

  start(): void {
    this.#timer = setInterval(() => this.look(), LOOK_MS).unref()
  }

  /** Begins where a night has come that was not there before; time that goes back changes nothing. */
  look(): void {
    const night = this.#night(this.#options.now())
    if (night <= this.#last || this.#running !== undefined) return
    this.#last = night
    this.#running = this.#options.task().finally(() => {
      this.#running = undefined
    })
  }

  /** Resolves when what is under way has ended. */
  async end(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }

  #night(now: number): number {
    return Math.floor((now - this.#offset) / DAY_MS)
  }
}
