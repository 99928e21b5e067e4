import { Client, type Dispatcher, Pool } from 'undici'
import { Fault } from '../protocol/errors.js'
import type { Clock } from '../protocol/time.js'
import { Attempt } from './attempt.js'
import { Exchange, type HttpReply } from './http-exchange.js'
import type { Outgoing, Wait } from './wire.js'

export interface PoolOptions {
  /** Scheme, host and port, without user and password. */
  readonly origin: string
  readonly clock: Clock
  readonly connections: number
  readonly maxReplyBytes: number
  /** In ms, for making one connection. */
  readonly connectTimeout: number
}

/** One HTTP request, and what is taken for a reply to it. */
export interface Sending {
  readonly request: Dispatcher.DispatchOptions
  readonly wait: Wait
  readonly repetition: Outgoing['repetition']
  /** Statuses whose body is read; any other ends in the fault that `refuse` makes of it. */
  readonly readable: readonly number[]
  readonly refuse: (status: number) => Fault
}

/** Requests to one origin over a bounded number of connections, each bounded as a whole by its deadline. */
export class HttpPool {
  readonly #options: PoolOptions
  readonly #connection: Client.Options
  readonly #pool: Pool
  readonly #underWay = new Set<Attempt<HttpReply>>()
  #idle: (() => void) | undefined
  #closed = false

  constructor(options: PoolOptions) {
    const { origin, connections, connectTimeout } = options
    this.#options = options
    this.#connection = { pipelining: 1, headersTimeout: 0, bodyTimeout: 0, connectTimeout }
    this.#pool = new Pool(origin, { ...this.#connection, connections })
  }

  /** Rejects with a `Fault`. A harmless request is sent once more where a connection that had been used before went away. */
  exchange(sending: Sending): Promise<HttpReply> {
    if (this.#closed) return Promise.reject(new Fault('unavailable', 'this upstream is closed'))
    const attempt = new Attempt<HttpReply>(sending.wait, this.#options.clock)
    if (attempt.settled) return attempt.promise
    const { readable, refuse } = sending
    const { maxReplyBytes } = this.#options
    const exchange = new Exchange({ attempt, maxReplyBytes, readable, refuse }, (error) => {
      if (sending.repetition === 'harmful' || !onUsedConnection(error)) return false
      this.#dispatchAfresh(sending.request, exchange)
      return true
    })
    this.#underWay.add(attempt)
    attempt.onEnd(() => {
      exchange.stop()
      this.#leave(attempt)
    })
    this.#pool.dispatch(sending.request, exchange)
    return attempt.promise
  }

  /** Takes no more requests, waits for those under way, then closes every connection. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#underWay.size > 0) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve
      })
    }
    await this.#pool.destroy()
  }

  /** On a connection of its own: the server may have dropped any other of the pool as well. */
  #dispatchAfresh(request: Dispatcher.DispatchOptions, exchange: Exchange): void {
    const client = new Client(this.#options.origin, this.#connection)
    client.dispatch({ ...request, reset: true }, exchange)
    void client.close()
  }

  #leave(attempt: Attempt<HttpReply>): void {
    this.#underWay.delete(attempt)
    if (this.#underWay.size === 0) this.#idle?.()
  }
}

/** An error that tells nothing of the connection is a reset found while writing, so of one that stood open before. */
function onUsedConnection(error: Error): boolean {
  const socket = 'socket' in error ? error.socket : undefined
  if (typeof socket !== 'object' || socket === null || !('bytesRead' in socket)) return true
  return socket.bytesRead !== 0
}
