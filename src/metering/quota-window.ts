import type { Clock } from '../protocol/time.js'

/** Ms, begun at multiples of that since 1970 in UTC, or a calendar month in UTC. */
export type Window = number | 'month'

export const DAY_MS = 86_400_000

/** From `start` on and before `end`, in ms since 1970. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** The window that an instant lies in. */
export function spanAt(window: Window, at: number): Span {
  if (window === 'month') {
    const date = new Date(at)
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
    return { start: Date.UTC(year, month), end: Date.UTC(year, month + 1) }
  }
  const start = Math.floor(at / window) * window
  return { start, end: start + window }
}

/** How far a clock may be put back without a window that is over being opened again, in ms. */
export const HELD_MS = 3_600_000

/**
 * The time that windows are read by. A clock that is put back by up to an hour is waited for: until it has caught up, the
 * windows stay those that had begun. One that is put back further was wrong before, and is followed.
 */
export class QuotaTime {
  readonly #clock: Clock
  readonly #spans = new Map<Window, Span>()
  #latest: number

  /** `since` is a time that is known to have been, from an earlier run; 0 where none is. */
  constructor(clock: Clock, since: number) {
    this.#clock = clock
    this.#latest = since
  }

  now(): number {
    const now = this.#clock.now()
    if (now >= this.#latest || this.#latest - now > HELD_MS) this.#latest = now
    return this.#latest
  }

  /** The window that it is at `now`, a time that `now()` has told. */
  span(window: Window, now = this.now()): Span {
    const last = this.#spans.get(window)
    if (last !== undefined && now >= last.start && now < last.end) return last
    const span = spanAt(window, now)
    this.#spans.set(window, span)
    return span
  }
}
