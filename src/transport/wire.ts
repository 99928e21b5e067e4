import type { Cancellation } from '../protocol/cancellation.js'

/** One JSON-RPC request on its way to a server elsewhere. */
export interface Outgoing {
  /** The gateway's own request id, which `text` carries; never a caller's. */
  readonly id: number
  /** The whole message, one line. */
  readonly text: string
  /** The instant on the monotonic clock at which the sender stops waiting, connecting and queueing included. */
  readonly deadline: number
  readonly cancellation: Cancellation
}

/**
 * Carries texts to one server and back. `send` resolves with the text of the reply to that very request, and rejects with a
 * `Fault` that says whether the server can have acted; it never outlasts the deadline.
 */
export interface Wire {
  send(message: Outgoing): Promise<string>
  close(): Promise<void>
}
