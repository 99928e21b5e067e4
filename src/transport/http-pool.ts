import { Client, type Dispatcher } from 'undici'
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

/**
 * Requests to one origin over a bounded number of connections, each bounded as a whole by its deadline. undici's own pool
 * would do, but for two things: it opens a new connection for every request that is aborted, and it keeps a request that
 * nobody wants any more in its queue.
 */
export class HttpPool {
  readonly #options: PoolOptions
  readonly #free: Connection[] = []
  readonly #waiting = new Set<Job>()
  #taken = 0
  #idle: (() => void) | undefined
  #closed = false

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** Rejects with a `Fault`. A harmless request is sent once more where a connection that had served before went away. */
  exchange(sending: Sending): Promise<HttpReply> {
    if (this.#closed) return Promise.reject(new Fault('unavailable', 'this upstream is closed'))
    const attempt = new Attempt<HttpReply>(sending.wait, this.#options.clock)
    if (!attempt.settled) {
      const job = new Job(sending, attempt)
      attempt.onEnd(() => this.#ended(job))
      if (this.#taken < this.#options.connections) this.#start(job)
      else this.#waiting.add(job)
    }
    return attempt.promise
  }

  /** Takes no more requests, waits for those under way, then closes every connection. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#taken > 0) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve
      })
    }
    await Promise.all(this.#free.map((connection) => connection.destroy()))
  }

  #start(job: Job): void {
    this.#taken++
    this.#dispatch(job, this.#free.pop() ?? this.#connection())
  }

  #dispatch(job: Job, connection: Connection): void {
    const { sending, attempt } = job
    const { readable, refuse } = sending
    const { maxReplyBytes } = this.#options
    job.connection = connection
    job.exchange = new Exchange({ attempt, maxReplyBytes, readable, refuse }, () => {
      if (sending.repetition === 'harmful' || !connection.used) return false
      void connection.destroy()
      this.#dispatch(job, this.#connection())
      return true
    })
    connection.dispatch(sending.request, job.exchange)
  }

  #ended(job: Job): void {
    const { connection } = job
    if (connection === undefined) {
      this.#waiting.delete(job)
      return
    }
    this.#taken--
    if (job.exchange?.complete) this.#free.push(connection.afterUse())
    else void connection.destroy()
    const [next] = this.#waiting
    if (next !== undefined) {
      this.#waiting.delete(next)
      this.#start(next)
    } else if (this.#taken === 0) this.#idle?.()
  }

  #connection(): Connection {
    return new Connection(this.#options)
  }
}

/** A request with all that it has got hold of. */
class Job {
  readonly sending: Sending
  readonly attempt: Attempt<HttpReply>
  connection: Connection | undefined
  exchange: Exchange | undefined

  constructor(sending: Sending, attempt: Attempt<HttpReply>) {
    this.sending = sending
    this.attempt = attempt
  }
}

/** Room for one socket, which is made when it is first needed and again when the server has closed it. */
class Connection {
  readonly #client: Client
  #used = false

  constructor({ origin, connectTimeout }: PoolOptions) {
    this.#client = new Client(origin, { headersTimeout: 0, bodyTimeout: 0, connectTimeout })
    this.#client.on('disconnect', () => {
      this.#used = false
    })
  }

  /** Whether the socket that is open now has carried a request to its end. */
  get used(): boolean {
    return this.#used
  }

  dispatch(request: Dispatcher.DispatchOptions, exchange: Exchange): void {
    this.#client.dispatch(request, exchange)
  }

  /** The same, once an exchange on it was whole. */
  afterUse(): this {
    this.#used = true
    return this
  }

  /** Closes the socket at once. */
  async destroy(): Promise<void> {
    await this.#client.destroy()
  }
}
