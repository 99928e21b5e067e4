/** Why something that a server wrote was passed over. */
export type NoiseReason = 'not_a_message' | 'not_utf8' | 'overlong' | 'unmatched'

/**
 * What happens beside the answers on a line that stays open; all of it is for counting and logging. Nothing that a server
 * wrote to its stdout is handed on, since half a reply may hold a caller's records. Callbacks must not throw.
 */
export interface TransportEvents {
  /** A server wrote what answers nothing; the stream survives. `unmatched` is mostly the answer to a call given up. */
  readonly onNoise?: ((reason: NoiseReason) => void) | undefined
  /** One line of a child's stderr, cut to a bound, without its line break. */
  readonly onStderr?: ((line: string) => void) | undefined
  /** The server ended by itself and is started again after `delay` ms; `attempt` counts failures in a row from 1. */
  readonly onRestart?: ((restart: Restart) => void) | undefined
  /** A notification of the server (§4.13). */
  readonly onNotification?: ((method: string, params: unknown) => void) | undefined
}

export interface Restart {
  readonly attempt: number
  readonly delay: number
  readonly reason: string
}
