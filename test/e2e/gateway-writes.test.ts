import { describe, expect, test } from 'vitest'
import type { A2mError } from '../../src/protocol/errors.js'
import { type Gateway, startGateway } from '../support/gateway-under-test.js'
import { BEHAVIOURS } from '../support/http-behaviours.js'
import {
  type Conduct,
  type Exchange,
  onMethod,
  PlainServer,
  properly,
} from '../support/plain-server.js'
import { until } from '../support/waiting.js'

interface UnderTest {
  readonly gateway: Gateway
  readonly first: PlainServer
  readonly second: PlainServer
}

/** A gateway over two stores of others, each with a tier of its name. */
async function overTwo(): Promise<UnderTest> {
  const first = await PlainServer.start()
  const second = await PlainServer.start()
  const gateway = await startGateway({
    upstreams: {
      one: { url: first.url, timeout: '500ms', breaker: { failures: 100 } },
      two: { url: second.url, timeout: '500ms', breaker: { failures: 100 } },
    },
    tiers: { one: { upstream: 'one' }, two: { upstream: 'two' } },
  })
  for (const name of ['one', 'two']) {
    await until(async () => (await gateway.upstream(name)).state === 'up')
  }
  return { gateway, first, second }
}

/** Does what is asked, then resets the connection instead of saying so. */
async function actAndDrop({ answer, message }: Exchange): Promise<void> {
  await answer()
  message.socket.resetAndDestroy()
}

/** Does what is asked and never says so. */
async function actInSilence({ answer }: Exchange): Promise<void> {
  await answer()
}

/** Another conduct for the first time that a method is called. */
function onceOn(method: Exchange['method'], conduct: Conduct): Conduct {
  let done = false
  return onMethod(method, (exchange) => {
    if (done) return properly(exchange)
    done = true
    return conduct(exchange)
  })
}

async function errorOf(task: Promise<unknown>): Promise<A2mError> {
  return task.then(
    () => Promise.reject(new Error('it was no error')),
    (error) => error,
  )
}

test.each([
  ['that has no id', {}],
  ['with an id of the caller', { id: 'mine' }],
])('a record %s whose answer was lost is there once', async (_, named) => {
  const { gateway, first } = await overTwo()
  first.conduct = onceOn('memory/remember', actAndDrop)
  const id = await gateway.remember({ content: 'the quay', tier: 'one', ...named })
  expect(first.requests.filter(({ body }) => body.includes('the quay'))).toHaveLength(2)
  expect(first.memory.records.map((record) => record.id)).toEqual([id])
  const { records } = await gateway.call('memory/recall', { query: 'quay' })
  expect(records).toMatchObject([{ id, content: 'the quay' }])
})

describe('a write that was not confirmed says whether it may have been done', () => {
  test.each<[string, (server: PlainServer) => unknown, string, number]>([
    ['connection refused', (server) => server.stop(), 'not_sent', 0],
    ['credential refused', (server) => always(server, BEHAVIOURS.unauthorized), 'not_sent', 0],
    ['answer cut', (server) => always(server, actAndDrop), 'unknown', 1],
    ['no answer', (server) => always(server, actInSilence), 'unknown', 1],
    ['half an answer', (server) => always(server, BEHAVIOURS.half_a_body), 'unknown', 0],
    ['other ids', (server) => always(server, answerOtherIds), 'unknown', 0],
  ])('%s', async (_, spoil, outcome, written) => {
    const { gateway, first } = await overTwo()
    await spoil(first)
    const error = await errorOf(gateway.remember({ content: 'the quay', tier: 'one' }))
    expect(error).toMatchObject({ code: -32603, data: { upstream: 'one', outcome } })
    expect(first.memory.records).toHaveLength(written)
  })

  function always(server: PlainServer, conduct: Conduct): void {
    server.conduct = onMethod('memory/remember', conduct)
  }

  function answerOtherIds({ sendResult }: Exchange): void {
    sendResult({ ids: ['of my own'] })
  }
})

describe('a batch over two upstreams of which the second fails', () => {
  const records = [
    { content: 'quay in one', tier: 'one' },
    { content: 'quay in two', tier: 'two' },
    { content: 'quay in one again', tier: 'one' },
  ]

  test.each<[string, (second: PlainServer) => unknown, string]>([
    ['down', (second) => second.stop(), 'not_sent'],
    ['refuses', (second) => spoil(second, BEHAVIOURS.refusing), 'refused'],
    ['drops the answer', (second) => spoil(second, actAndDrop), 'unknown'],
    ['never answers', (second) => spoil(second, actInSilence), 'unknown'],
  ])('%s: an error, and nothing of it is recalled', async (_, fail, outcome) => {
    const { gateway, first, second } = await overTwo()
    await fail(second)
    const error = await errorOf(gateway.call('memory/remember', { records }))
    expect(error.data).toMatchObject({ upstream: 'two', outcome, remaining: [] })
    second.conduct = properly
    const recalled = await gateway.call('memory/recall', { query: 'quay' })
    expect(recalled.records).toEqual([])
    expect([first.contents, second.contents]).toEqual([[], []])
  })

  function spoil(server: PlainServer, conduct: Conduct): void {
    server.conduct = onMethod('memory/remember', conduct)
  }

  test('what cannot be taken back yet is named, and taken back as soon as it can', async () => {
    const { gateway, first, second } = await overTwo()
    await second.stop()
    first.conduct = onMethod('memory/forget', BEHAVIOURS.failing)
    const error = await errorOf(gateway.call('memory/remember', { records }))
    const ids = first.memory.records.map(({ id }) => id)
    expect(ids).toHaveLength(2)
    expect(error.data).toMatchObject({ upstream: 'two', remaining: ids })
    first.conduct = properly
    await until(() => first.memory.records.length === 0)
  })

  test('an id of the caller is not taken back but named', async () => {
    const { gateway, first, second } = await overTwo()
    second.conduct = onMethod('memory/remember', BEHAVIOURS.failing)
    const named = records.map((record, index) => ({ ...record, id: `mine-${index}` }))
    const error = await errorOf(gateway.call('memory/remember', { records: named }))
    expect(error.data).toMatchObject({ upstream: 'two' })
    expect(error.data?.['remaining']).toEqual(expect.arrayContaining(['mine-0', 'mine-2']))
    expect(first.memory.records.map(({ id }) => id)).toEqual(['mine-0', 'mine-2'])
    second.conduct = properly
    const { ids } = await gateway.call('memory/remember', { records: named })
    expect(ids).toEqual(['mine-0', 'mine-1', 'mine-2'])
    expect([first.memory.records.length, second.memory.records.length]).toEqual([2, 1])
  })
})

test('a forget that one upstream did not confirm is an error that says how many are gone', async () => {
  const { gateway, second } = await overTwo()
  const ids = [
    await gateway.remember({ content: 'a', tier: 'one' }),
    await gateway.remember({ content: 'b', tier: 'two' }),
  ]
  second.conduct = onMethod('memory/forget', BEHAVIOURS.failing)
  const error = await errorOf(gateway.call('memory/forget', { ids }))
  expect(error).toMatchObject({ code: -32603, data: { forgotten: 1 } })
  second.conduct = properly
  expect(await gateway.call('memory/forget', { ids })).toMatchObject({ forgotten: 1 })
  expect(await gateway.contentsOf()).toEqual([])
})
