import { messageOf } from '../protocol/errors.js'
/** Which of the listeners of a program: a gateway's for callers, its one for operators, or a store's. */
export type ListenerName = 'listen' | 'admin' | 'store'

/** A listener that could not be opened; `cause` is the system's error. */
export class ListenError extends Error {
  readonly listener: ListenerName

  constructor(listener: ListenerName, cause: unknown) {
    super(messageOf(cause), { cause })
    this.name = 'ListenError'
    this.listener = listener
  }
}
