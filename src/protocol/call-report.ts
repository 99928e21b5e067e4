import type { A2mError } from './errors.js'
import type { Ask, Caller } from './memory.js'
import type { Method } from './methods.js'
import type { Usage } from './usage.js'

/** How one message ended, whichever edge it came in by; made once a message. */
export interface CallReport {
  /** Undefined where the message named no method that exists. */
  readonly method: Method | undefined
  /** The protocol version that served it, by its name in the configuration. */
  readonly version: string
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
  /** When the message was there, in ms since 1970. */
  readonly at: number
  /** What was read and written, where it is measured and something was. */
  readonly usage: Usage | undefined
  /** `hung_up`: the caller had left before the reply was there. */
  readonly ending: 'answered' | 'silent' | 'hung_up'
}
