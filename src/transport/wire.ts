import type { Cancellation } from '../protocol/cancellation.js'
import type { Context } from '../protocol/memory.js'
import type { Reply } from '../protocol/rpc.js'

/** How long somebody waits: until an instant, in ms on the monotonic clock, or until it is no longer wanted. */
export interface Wait {
  readonly deadline: number
  readonly cancellation: Cancellation
}

/** One JSON-RPC request on its way to a server elsewhere; its deadline counts connecting and queueing too. */
export interface Outgoing extends Wait {
  /** The gateway's own request id, which `text` carries; never a caller's. */
  readonly id: number
  /** The whole message, one line. */
  readonly text: string
  /** The credential that goes along with this message; undefined: the wire's own, where it has one. Over HTTP alone. */
  readonly bearer?: string | undefined
  /** Whether the server may get this message twice: a read may come again, a write may not. */
  readonly repetition: 'harmless' | 'harmful'
}

/** Says which credential a message carries that is sent in a context; undefined: the wire's own. */
export type Vouch = (context: Context) => string | undefined | Promise<string>

/** The answer to a request: a result or an error, read and not yet checked against the method. */
export type Response = Exclude<Reply, { readonly notification: string }>

/**
 * Carries requests to one server and answers back. `send` rejects with a `Fault` that says whether the server can have
 * acted, and never outlasts the deadline. `close` takes no more requests, lets those under way end, then lets go of the server.
 */
export interface Wire {
  send(message: Outgoing): Promise<Response>
  close(): Promise<void>
}
