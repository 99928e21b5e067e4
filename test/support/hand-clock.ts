import type { Clock } from '../../src/protocol/time.js'
import type { Schedule } from '../../src/transport/backoff.js'

/** A clock with timers that both stand still until a test moves them. */
export class HandClock implements Clock {
  #now = 1000
  readonly #timers = new Set<{ readonly at: number; readonly run: () => void }>()

  readonly schedule: Schedule = (run, delay) => {
    const timer = { at: this.#now + delay, run }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** How many timers are set. */
  get pending(): number {
    return this.#timers.size
  }

  now(): number {
    return this.#now
  }

  monotonic(): number {
    return this.#now
  }

  /** Moves on by so many ms and runs what falls due, in its order. */
  pass(milliseconds: number): void {
    this.#now += milliseconds
    const due = [...this.#timers].filter(({ at }) => at <= this.#now)
    for (const timer of due.sort((a, b) => a.at - b.at)) {
      this.#timers.delete(timer)
      timer.run()
    }
  }
}
