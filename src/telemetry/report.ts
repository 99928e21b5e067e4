import type { A2mError } from '../protocol/errors.js'
import type { Ask, Caller } from '../protocol/memory.js'
import type { Method } from '../protocol/methods.js'

/** How one message ended, whichever edge it came in by; made once a message. */
export interface CallReport {
  /** Undefined where the message named no method that exists. */
  readonly method: Method | undefined
  /** What the caller was told, undefined for a result. A notification has one too, though nobody hears of it. */
  readonly error: A2mError | undefined
  /** Milliseconds from the whole message to the reply, sending not included. */
  readonly ms: number
  readonly bytesIn: number
  /** 0 where nothing was to be answered. */
  readonly bytesOut: number
  readonly asks: readonly Ask[]
  readonly caller: Caller
  readonly trace: string
  /** `hung_up`: the caller had left before the reply was there. */
  readonly ending: 'answered' | 'silent' | 'hung_up'
}

/** Told what happens at an edge. Must not throw and must not wait. */
export interface Observer {
  /** A whole message is there and is being worked on; `finished` follows for each. */
  started(): void
  finished(report: CallReport): void
  /** A request was turned away before it became a message, with this HTTP status. */
  refused(status: number): void
}

/** Tells several observers, in their order. */
export function observeAll(observers: readonly Observer[]): Observer {
  return {
    started() {
      for (const observer of observers) observer.started()
    },
    finished(report) {
      for (const observer of observers) observer.finished(report)
    },
    refused(status) {
      for (const observer of observers) observer.refused(status)
    },
  }
}
