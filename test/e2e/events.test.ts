import { expect, test } from 'vitest'
import { emptyFolder, run } from '../support/gateway-process.js'
import {
  type Calling,
  type Gateway,
  keyEntry,
  keyOf,
  startGateway,
} from '../support/gateway-under-test.js'
import { meets } from '../support/meets.js'
import { until } from '../support/waiting.js'

const store = (name: string) => ({ store: 'sqlite', path: `${name}.db` })
const STORES = {
  upstreams: { one: store('one'), two: store('two') },
  tiers: { one: { upstream: 'one' }, two: { upstream: 'two' } },
}

async function since(gateway: Gateway, cursor: string, calling: Calling = {}) {
  const { events, more, reset } = await gateway.call('memory/events', { cursor, limit: 0 }, calling)
  return { events, more, reset, ids: events.map(({ id }) => id) }
}

const here = async (gateway: Gateway, calling: Calling = {}) =>
  (await gateway.call('memory/events', {}, calling)).cursor

const line = (id: number, method: string, params: object = {}) =>
  `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`

test.each([
  ['a gateway', ['stdio']],
  ['a store', ['store', '--path', 'a.db', '--stdio']],
])('%s on stdio has pushed all when its input ends', async (_, args) => {
  const write = (id: number) => line(id, 'memory/remember', { records: [{ content: `${id}` }] })
  const input = `${line(1, 'memory/events/subscribe')}${write(2)}${write(3)}${write(4)}`
  const { code, stdout } = await run(args, { input })
  expect(code).toBe(0)
  const messages = stdout
    .trim()
    .split('\n')
    .map((text) => JSON.parse(text))
  const ids = messages.flatMap(({ result }) => result?.ids ?? [])
  expect(ids).toHaveLength(3)
  const pushed = messages.filter(({ method }) => method === 'memory/event')
  // Calls in flight at once may be done in any order, and before the subscription.
  expect(new Set(ids)).toEqual(new Set([...ids, ...pushed.map(({ params }) => params.id)]))
  expect(pushed.length).toBeGreaterThan(0)
  expect(new Set(pushed.map(({ params }) => params.id)).size).toBe(pushed.length)
})

test(`over HTTP events are polled, by each owner its own, and push is refused ${meets('4.12/scoped', '4.13/truthful', '4.13/refused')}`, async () => {
  const auth = { keys: [keyEntry('anna'), keyEntry('ben'), keyEntry('root', '*')] }
  const gateway = await startGateway({ ...STORES, auth })
  const [anna, ben, root] = ['anna', 'ben', 'root'].map((name) => ({ key: keyOf(name) }))
  const start = await here(gateway, anna)
  expect((await gateway.call('memory/describe', {}, anna)).events).toEqual({ push: false })
  const subscribing = gateway.call('memory/events/subscribe', {}, anna)
  await expect(subscribing).rejects.toMatchObject({ code: -32003 })
  const left = await gateway.call('memory/events/unsubscribe', {}, anna)
  expect(left).toEqual({ subscribed: false })
  const a = await gateway.remember({ content: 'a' }, anna)
  const b = await gateway.remember({ content: 'b', tier: 'two' }, ben)
  expect((await since(gateway, start, anna)).events).toMatchObject([{ id: a, tier: 'one' }])
  expect((await since(gateway, start, ben)).events).toMatchObject([{ id: b, tier: 'two' }])
  expect((await since(gateway, start, root)).ids).toEqual([a, b])
  const named = gateway.call('memory/events', { cursor: start, owner: 'anna' }, ben)
  await expect(named).rejects.toMatchObject({ code: -32005 })
  const chosen = await gateway.call('memory/events', { cursor: start, owner: 'ben' }, root)
  expect(chosen.events).toMatchObject([{ id: b }])
})

test(`cursors outlive a restart; those of another gateway, of before the window and garbage have an answer each ${meets('4.12/reset')}`, async () => {
  const cwd = emptyFolder()
  let gateway = await startGateway({ ...STORES, events: { keep: 3 } }, { cwd })
  const start = await here(gateway)
  const first = await gateway.remember({ content: 'first' })
  expect(await gateway.stop()).toBe(0)
  gateway = await startGateway({ ...STORES, events: { keep: 3 } }, { cwd })
  const second = await gateway.remember({ content: 'second' })
  expect(await since(gateway, start)).toMatchObject({ ids: [first, second], reset: undefined })
  const others: string[] = []
  for (const content of ['a', 'b', 'c']) others.push(await gateway.remember({ content }))
  expect(await since(gateway, start)).toMatchObject({ ids: others, reset: true })
  const stranger = await startGateway(STORES)
  const foreign = await here(stranger)
  expect(await since(gateway, foreign)).toMatchObject({ ids: others, reset: true })
  const garbage = gateway.call('memory/events', { cursor: 'garbage' })
  await expect(garbage).rejects.toMatchObject({ code: -32602 })
})

test('kill -9 under writes: whatever was confirmed is told, and nothing twice', async () => {
  const cwd = emptyFolder()
  let gateway = await startGateway(STORES, { cwd })
  const start = await here(gateway)
  const confirmed: string[] = []
  for (const enough of [20, 60]) {
    const writers = Array.from({ length: 6 }, async (_, writer) => {
      for (;;) {
        const records = ['one', 'two'].slice(writer % 2).map((tier) => ({ content: 'x', tier }))
        const written = await gateway.call('memory/remember', { records }).catch(() => undefined)
        if (written === undefined) return
        confirmed.push(...written.ids)
      }
    })
    await until(() => confirmed.length >= enough)
    await gateway.kill()
    await Promise.all(writers)
    gateway = await startGateway(STORES, { cwd })
  }
  const { ids, more } = await since(gateway, start)
  expect(more).toBeUndefined()
  expect(new Set(ids).size).toBe(ids.length)
  expect(new Set(ids)).toEqual(new Set([...ids, ...confirmed]))
  const { records } = await gateway.call('memory/timeline', { limit: 0 })
  expect(new Set(records.map(({ id }) => id))).toEqual(new Set(ids))
})
