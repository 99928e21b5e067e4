import type { Changes } from '../events/listeners.js'
import type { Connection, Context } from '../protocol/memory.js'
import type { ParamsOf, ResultOf } from '../protocol/methods.js'
import type { Served } from '../protocol/serve.js'
import type { Clock } from '../protocol/time.js'

export interface SubscriptionOptions {
  readonly inner: Served
  readonly changes: Changes
  readonly clock: Clock
  readonly push: NonNullable<Connection['push']>
  readonly params: ParamsOf<'memory/events/subscribe'>
  /** Of the call that subscribed; events are read for the same caller. */
  readonly context: Context
  /** Behind which it begins. */
  readonly cursor: string
}

type Page = ResultOf<'memory/events'>

/** The longest that one reading of the log is waited for, in ms. */
const PATIENCE = 30_000
/** Events of one reading; no more than these wait in memory for a slow reader. */
const PAGE = 100

/** Pushes the events of a log behind a cursor, one notification each, until it is stopped. It works only when woken. */
export class Subscription {
  readonly #options: SubscriptionOptions
  readonly #leave: () => void
  #cursor: string
  #stopped = false
  #woken = false
  #work: Promise<void> | undefined

  constructor(options: SubscriptionOptions) {
    this.#options = options
    this.#cursor = options.cursor
    this.#leave = options.changes.subscribe(() => this.#wake())
    this.#wake()
  }

  stop(): void {
    this.#stopped = true
    this.#leave()
  }

  /** Pushes what has happened so far and stops. Resolves with the place that it has come to. */
  async end(): Promise<string> {
    await this.flushed()
    this.stop()
    return this.#cursor
  }

  async flushed(): Promise<void> {
    this.#wake()
    await this.#work
  }

  #wake(): void {
    if (this.#stopped) return
    this.#woken = true
    this.#work ??= this.#run()
  }

  async #run(): Promise<void> {
    while (this.#woken && !this.#stopped) {
      this.#woken = false
      await this.#drain()
    }
    this.#work = undefined
  }

  /** A log that cannot be read now is read again when woken; the cursor stays. */
  async #drain(): Promise<void> {
    try {
      for (let more = true; more && !this.#stopped; ) {
        const page = await this.#read()
        await this.#pushAll(page)
        more = page.more === true
      }
    } catch {
      return
    }
  }

  #read(): Promise<Page> {
    const { inner, params, context, clock } = this.#options
    const deadline = clock.monotonic() + PATIENCE
    const { closed } = context.connection
    return inner.call(
      'memory/events',
      { ...params, cursor: this.#cursor, limit: PAGE },
      { ...context, cancellation: closed, deadline, observe: () => {} },
    )
  }

  async #pushAll({ events, cursor }: Page): Promise<void> {
    for (const params of events) {
      if (this.#stopped) return
      await this.#options.push({ jsonrpc: '2.0', method: 'memory/event', params })
    }
    this.#cursor = cursor
  }
}
