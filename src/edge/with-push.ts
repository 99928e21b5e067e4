import type { Changes } from '../events/listeners.js'
import { A2mError } from '../protocol/errors.js'
import type { Connection, Context } from '../protocol/memory.js'
import type { Method, ParamsOf, ResultOf } from '../protocol/methods.js'
import type { Served } from '../protocol/serve.js'
import type { Clock } from '../protocol/time.js'
import { Subscription } from './subscription.js'

export interface PushOptions {
  /** Wakes when the inner memory may have new events; nothing is polled in between. */
  readonly changes: Changes
  readonly clock: Clock
}

/** A served memory whose events can be pushed. */
export interface Pushing extends Served {
  /** Resolves when what had happened before the call has been pushed to the connection, or cannot be. */
  flushed(connection: Connection): Promise<void>
}

/**
 * Adds push (§4.13) to a memory that can be polled: each subscription reads the same log with a cursor of its own, under its
 * subscriber's scope. Where the inner memory declares no events, nothing changes.
 */
export function withPush(inner: Served, options: PushOptions): Pushing {
  const lines = new Lines(inner, options)
  return {
    refusal: (method, context) => inner.refusal(method, context),
    recognised: (method, params, context) => inner.recognised(method, params, context),
    async call<M extends Method>(method: M, params: ParamsOf<M>, context: Context) {
      const handler = HANDLERS[method]
      return handler === undefined
        ? inner.call(method, params, context)
        : handler({ inner, lines, context }, params)
    },
    flushed: (connection) => lines.flushed(connection),
    close: () => inner.close(),
  }
}

interface Call {
  readonly inner: Served
  readonly lines: Lines
  readonly context: Context
}

type Handlers = {
  readonly [M in Method]?: (call: Call, params: ParamsOf<M>) => Promise<ResultOf<M>>
}

const HANDLERS: Handlers = {
  async 'memory/describe'({ inner, context }, params) {
    const description = await inner.call('memory/describe', params, context)
    if (description.events === undefined) return description
    return { ...description, events: { push: context.connection.push !== undefined } }
  },
  async 'memory/events/subscribe'({ lines, context }, params) {
    await lines.subscribe(params, context)
    return { subscribed: true }
  },
  async 'memory/events/unsubscribe'({ lines, context }) {
    await lines.unsubscribe(context.connection)
    return { subscribed: false }
  },
}

/** The one subscription that a connection may have. What changes it is done in turn. */
interface Line {
  subscription: Subscription | undefined
  turn: Promise<unknown>
}

class Lines {
  readonly #inner: Served
  readonly #options: PushOptions
  readonly #lines = new WeakMap<Connection, Line>()

  constructor(inner: Served, options: PushOptions) {
    this.#inner = inner
    this.#options = options
  }

  /** A second one takes the place of the first, from where that had come to. Rejects where the caller may not read the events. */
  subscribe(params: ParamsOf<'memory/events/subscribe'>, context: Context): Promise<void> {
    const { push, closed } = context.connection
    if (push === undefined) throw noPush()
    return this.#inTurn(context.connection, async (line) => {
      const { kinds: _, ...whose } = params
      const { cursor } = await this.#inner.call('memory/events', whose, context)
      const reached = await line.subscription?.end()
      if (closed.cancelled) return
      const subscription = new Subscription({
        inner: this.#inner,
        clock: this.#options.clock,
        changes: this.#options.changes,
        ...{ push, params, context },
        cursor: reached ?? cursor,
      })
      line.subscription = subscription
      closed.subscribe(() => subscription.stop())
    })
  }

  unsubscribe(connection: Connection): Promise<void> {
    if (!this.#lines.has(connection)) return Promise.resolve()
    return this.#inTurn(connection, async (line) => {
      await line.subscription?.end()
      line.subscription = undefined
    })
  }

  async flushed(connection: Connection): Promise<void> {
    const line = this.#lines.get(connection)
    await line?.turn
    await line?.subscription?.flushed()
  }

  #inTurn(connection: Connection, task: (line: Line) => Promise<void>): Promise<void> {
    const line = this.#lines.get(connection) ?? { subscription: undefined, turn: Promise.resolve() }
    this.#lines.set(connection, line)
    const turn = line.turn.then(() => task(line))
    line.turn = turn.catch(() => {})
    return turn
  }
}

function noPush(): A2mError {
  const message = 'this connection carries no notifications; poll memory/events instead'
  return new A2mError('CAPABILITY_NOT_SUPPORTED', message, { capability: 'events' })
}
