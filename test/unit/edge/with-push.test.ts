import { expect, test } from 'vitest'
import { type Pushing, withPush } from '../../../src/edge/with-push.js'
import { withWake } from '../../../src/edge/with-wake.js'
import { Listeners } from '../../../src/events/listeners.js'
import { Cancellation } from '../../../src/protocol/cancellation.js'
import { withContract } from '../../../src/protocol/contract.js'
import { A2mError } from '../../../src/protocol/errors.js'
import type { Connection, Context } from '../../../src/protocol/memory.js'
import type { ParamsOf, ResultOf } from '../../../src/protocol/methods.js'
import { systemClock } from '../../../src/protocol/time.js'
import { contextOf, ownerContext } from '../../support/federation-contexts.js'
import { meets } from '../../support/meets.js'

type Events = ResultOf<'memory/events'>['events']

/** A log of numbered events in memory, polled by its length; every write adds one. Readings can be held up or made to fail. */
function subject() {
  const all: Events = []
  const changes = new Listeners()
  const state = { hold: Promise.resolve(), fail: false, reads: 0 }
  const add = (kind = 'written', owner = 'alice') => {
    all.push({ kind, at: '2026-01-01T00:00:00.000Z', n: all.length, owner })
    changes.wake()
  }
  const read = async (params: ParamsOf<'memory/events'>): Promise<ResultOf<'memory/events'>> => {
    state.reads++
    await state.hold
    if (state.fail) throw new A2mError('INTERNAL_ERROR', 'not now')
    if (params.owner === 'mallory') throw new A2mError('SCOPE_DENIED', 'not yours')
    const from = Number(params.cursor ?? all.length)
    const to = Math.min(all.length, from + (params.limit ?? 100))
    const events = all.slice(from, to).filter(({ kind, owner }) => {
      return (params.kinds?.includes(kind) ?? true) && (params.owner ?? owner) === owner
    })
    return { events, cursor: String(to), ...(to < all.length ? { more: true } : {}) }
  }
  const inner = {
    async call(method: string, params: object) {
      if (method === 'memory/events') return read(params)
      if (method === 'memory/forget') add('forgotten')
      return {
        protocol: 'a2m/0.1',
        name: 'x',
        capabilities: [],
        methods: [],
        events: { push: false },
      }
    },
    close: async () => {},
  }
  const capabilities = new Set(['core', 'events', 'scopes'] as const)
  const contract = () => ({ capabilities, readOnly: false, limits: {} })
  const served = withPush(withContract(inner as never, contract), { changes, clock: systemClock })
  return { served, add, all, state, changes }
}

/** A connection whose reader takes what it is given at once, or waits to be let. */
function line(pace: () => Promise<void> = async () => {}) {
  const heard: unknown[] = []
  const closed = new Cancellation()
  const connection: Connection = {
    closed,
    push: (notification) => {
      heard.push(notification)
      return pace()
    },
  }
  return { heard, closed, context: ownerContext('alice', { connection }) }
}

const numbers = (heard: readonly unknown[]) =>
  heard.map((notification) => (notification as { params: { n: number } }).params.n)

const subscribe = (served: Pushing, context: Context, params = {}) =>
  served.call('memory/events/subscribe', params, context)

test(`pushes each event once, in order, as one notification ${meets('4.13/one-log', '8/no-requests')}`, async () => {
  const { served, add, all } = subject()
  const { heard, context } = line()
  add()
  expect(await subscribe(served, context)).toEqual({ subscribed: true })
  add('written')
  add('forgotten')
  await served.flushed(context.connection)
  expect(heard).toEqual(
    all.slice(1).map((params) => ({ jsonrpc: '2.0', method: 'memory/event', params })),
  )
})

test(`declares push where the connection has it, and refuses to subscribe where not ${meets('4.13/told', '4.13/truthful', '4.13/refused', '4.14/no-op')}`, async () => {
  const { served } = subject()
  const { context } = line()
  expect((await served.call('memory/describe', {}, context)).events).toEqual({ push: true })
  const mute = contextOf({ kind: 'all' })
  expect((await served.call('memory/describe', {}, mute)).events).toEqual({ push: false })
  await expect(subscribe(served, mute)).rejects.toMatchObject({ code: -32003 })
  const left = await served.call('memory/events/unsubscribe', {}, mute)
  expect(left).toEqual({ subscribed: false })
})

test(`says nothing before subscribe, after unsubscribe, and on another connection ${meets('4.13/opt-in', '4.13/ends')}`, async () => {
  const { served, add } = subject()
  const [one, two] = [line(), line()]
  add()
  await subscribe(served, one.context)
  add()
  await served.call('memory/events/unsubscribe', {}, one.context)
  add()
  await served.flushed(one.context.connection)
  expect(numbers(one.heard)).toEqual([1])
  expect(two.heard).toEqual([])
  await served.call('memory/events/unsubscribe', {}, one.context)
})

test(`ends with the connection, and reads the log no more ${meets('4.13/ends')}`, async () => {
  const { served, add, state } = subject()
  const { heard, closed, context } = line()
  await subscribe(served, context)
  await served.flushed(context.connection)
  closed.cancel()
  const before = state.reads
  add()
  await served.flushed(context.connection)
  expect(heard).toEqual([])
  expect(state.reads).toBe(before)
})

test('writes that race with subscribing are neither lost nor doubled', async () => {
  const { served, add, state } = subject()
  const { heard, context } = line()
  let go = () => {}
  state.hold = new Promise((resolve) => {
    go = resolve
  })
  const subscribing = subscribe(served, context)
  for (let n = 0; n < 5; n++) add()
  go()
  for (let n = 0; n < 5; n++) add()
  await subscribing
  for (let n = 0; n < 250; n++) add()
  await served.flushed(context.connection)
  const told = numbers(heard)
  expect(told).toEqual(Array.from({ length: told.length }, (_, n) => 260 - told.length + n))
  expect(told.length).toBeGreaterThanOrEqual(250)
})

test('a second subscription takes the place of the first, with nothing in between lost', async () => {
  const { served, add } = subject()
  const { heard, context } = line()
  await subscribe(served, context, { kinds: ['written'] })
  add('written')
  add('forgotten')
  await Promise.all([
    subscribe(served, context, { kinds: ['forgotten'] }),
    subscribe(served, context, { kinds: ['forgotten'] }),
  ])
  add('written')
  add('forgotten')
  await served.flushed(context.connection)
  expect(numbers(heard)).toEqual([0, 3])
})

test('a subscription for somebody else is refused, and leaves the one that there is', async () => {
  const { served, add } = subject()
  const { heard, context } = line()
  await subscribe(served, context)
  await expect(subscribe(served, context, { owner: 'mallory' })).rejects.toMatchObject({
    code: -32005,
  })
  add()
  await served.flushed(context.connection)
  expect(numbers(heard)).toEqual([0])
})

test('a log that cannot be read for a while is read on from there', async () => {
  const { served, add, state } = subject()
  const { heard, context } = line()
  await subscribe(served, context)
  await served.flushed(context.connection)
  state.fail = true
  add()
  await served.flushed(context.connection)
  state.fail = false
  add()
  await served.flushed(context.connection)
  expect(numbers(heard)).toEqual([0, 1])
})

test('a reader that takes nothing is not read for', async () => {
  const { served, add, state } = subject()
  let take = () => {}
  const { heard, context } = line(
    () =>
      new Promise((resolve) => {
        take = resolve
      }),
  )
  await subscribe(served, context)
  for (let n = 0; n < 10_000; n++) add()
  await new Promise(setImmediate)
  const reads = state.reads
  expect(heard).toHaveLength(1)
  for (let n = 0; n < 10_000; n++) add()
  await new Promise(setImmediate)
  expect(state.reads).toBe(reads)
  expect(heard).toHaveLength(1)
  take()
  await new Promise(setImmediate)
  expect(numbers(heard)).toEqual([0, 1])
})

test('whatever passed through to a memory wakes its readers, when it writes', async () => {
  const { served, changes } = subject()
  let woken = 0
  changes.subscribe(() => {
    woken++
  })
  const inner = withWake(served, () => changes.wake())
  await inner.call('memory/describe', {}, line().context)
  expect(woken).toBe(0)
  await inner.call('memory/promote', { ids: [], tier: 'x' }, line().context)
  expect(woken).toBe(1)
})
