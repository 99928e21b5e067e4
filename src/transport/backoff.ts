import type { Clock } from '../protocol/time.js'

/** Runs something later and returns the undo. */
export type Schedule = (run: () => void, delay: number) => () => void

/** Timers that do not keep the process alive. */
export const systemSchedule: Schedule = (run, delay) => {
  const timer = setTimeout(run, delay).unref()
  return () => clearTimeout(timer)
}

/** How long to wait between starts, in ms. */
export interface Backoff {
  readonly first: number
  readonly longest: number
  /** Who has run for this long is sound, and its next failure counts as the first. */
  readonly stable: number
}

export const DEFAULT_BACKOFF: Backoff = { first: 100, longest: 30_000, stable: 10_000 }

/** Doubles with every failure in a row; `random` from 0 to 1 spreads it between half and the whole. */
export function delayAfter(failures: number, { first, longest }: Backoff, random: number): number {
  const whole = Math.min(longest, first * 2 ** Math.min(failures - 1, 40))
  return whole * (0.5 + 0.5 * random)
}

export interface RestartOptions {
  readonly backoff: Backoff
  readonly clock: Clock
  readonly random: () => number
  readonly schedule: Schedule
}

/** Starts something again each time that it has ended, later and later while it keeps failing. */
export class Restarts {
  readonly #options: RestartOptions
  #failures = 0
  #startedAt = 0
  #undo: (() => void) | undefined

  constructor(options: RestartOptions) {
    this.#options = options
  }

  started(): void {
    this.#startedAt = this.#options.clock.monotonic()
  }

  /** Schedules `start`; says which failure in a row this was and how long the wait is. */
  ended(start: () => void): { readonly attempt: number; readonly delay: number } {
    const { backoff, clock, random, schedule } = this.#options
    if (clock.monotonic() - this.#startedAt >= backoff.stable) this.#failures = 0
    this.#failures++
    const delay = delayAfter(this.#failures, backoff, random())
    this.#undo = schedule(start, delay)
    return { attempt: this.#failures, delay }
  }

  stop(): void {
    this.#undo?.()
  }
}
