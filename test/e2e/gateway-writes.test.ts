import { describe, expect, test } from 'vitest'
import type { A2mError } from '../../src/protocol/errors.js'
import { emptyFolder } from '../support/gateway-process.js'
import { type ConfigFile, type Gateway, startGateway } from '../support/gateway-under-test.js'
import { BEHAVIOURS } from '../support/http-behaviours.js'
import { meets } from '../support/meets.js'
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
  readonly config: ConfigFile
  readonly cwd: string
}

/** A gateway over two stores of others, each with a tier of its name. */
async function overTwo(): Promise<UnderTest> {
  const first = await PlainServer.start()
  const second = await PlainServer.start()
  const settings = { timeout: '500ms', breaker: { failures: 100 } }
  const config = {
    upstreams: { one: { url: first.url, ...settings }, two: { url: second.url, ...settings } },
    tiers: { one: { upstream: 'one' }, two: { upstream: 'two' } },
  }
  const cwd = emptyFolder()
  const gateway = await startGateway(config, { cwd })
  await gateway.up('one', 'two')
  return { gateway, first, second, config, cwd }
}

/** Lets a server do something else with writes, or ends it. */
async function spoil(server: PlainServer, conduct: Conduct | 'down'): Promise<void> {
  if (conduct === 'down') await server.stop()
  else server.conduct = onMethod('memory/remember', conduct)
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

test('a record whose answer was lost is there once, with or without an id of the caller', async () => {
  const { gateway, first } = await overTwo()
  for (const named of [{}, { id: 'mine' }]) {
    first.conduct = onceOn('memory/remember', actAndDrop)
    const content = `quay ${Object.keys(named).length}`
    const id = await gateway.remember({ content, tier: 'one', ...named })
    expect(first.requests.filter(({ body }) => body.includes(content))).toHaveLength(2)
    const { records } = await gateway.call('memory/recall', { query: 'quay', where: { id } })
    expect(records).toMatchObject([{ id, content }])
  }
  expect(first.contents).toEqual(['quay 0', 'quay 1'])
})

test('a write that was not confirmed says whether it may have been done', async () => {
  const rows: readonly (readonly [Conduct | 'down', string, number])[] = [
    ['down', 'not_sent', 0],
    [BEHAVIOURS.unauthorized, 'not_sent', 0],
    [actAndDrop, 'unknown', 1],
    [actInSilence, 'unknown', 1],
    [BEHAVIOURS.half_a_body, 'unknown', 0],
    [({ sendResult }) => sendResult({ ids: ['of my own'] }), 'unknown', 0],
  ]
  const { gateway, first } = await overTwo()
  for (const [index, [conduct, outcome, written]] of rows.entries()) {
    const content = `quay ${index}`
    await spoil(first, conduct)
    const error = await errorOf(gateway.remember({ content, tier: 'one' }))
    const told = { code: -32603, data: { upstream: 'one', outcome } }
    expect([content, error]).toMatchObject([content, told])
    expect(first.contents.filter((one) => one === content)).toHaveLength(written)
    await first.resume()
  }
})

describe('a batch over two upstreams of which the second fails', () => {
  const records = [
    { content: 'quay in one', tier: 'one' },
    { content: 'quay in two', tier: 'two' },
    { content: 'quay in one again', tier: 'one' },
  ]

  test(`is an error, and nothing of it is recalled ${meets('4.2/no-short-list')}`, async () => {
    const { gateway, first, second } = await overTwo()
    for (const [conduct, outcome] of [
      ['down', 'not_sent'],
      [BEHAVIOURS.refusing, 'refused'],
      [actAndDrop, 'unknown'],
      [actInSilence, 'unknown'],
    ] as const) {
      await spoil(second, conduct)
      const error = await errorOf(gateway.call('memory/remember', { records }))
      expect([outcome, error.data]).toMatchObject([
        outcome,
        { upstream: 'two', outcome, remaining: [] },
      ])
      await second.resume()
      const { records: recalled } = await gateway.call('memory/recall', { query: 'quay' })
      expect(recalled).toEqual([])
      expect([first.contents, second.contents]).toEqual([[], []])
    }
  })

  test('names what cannot be taken back yet, which the next start takes back', async () => {
    const { gateway, first, second, config, cwd } = await overTwo()
    await second.stop()
    first.conduct = onMethod('memory/forget', BEHAVIOURS.failing)
    const error = await errorOf(gateway.call('memory/remember', { records }))
    const ids = first.memory.records.map(({ id }) => id)
    expect(ids).toHaveLength(2)
    expect(error.data).toMatchObject({ upstream: 'two', remaining: ids })
    await gateway.kill()
    await first.resume()
    await startGateway(config, { cwd })
    await until(() => first.memory.records.length === 0)
  })

  test('does not take back an id of the caller but names it', async () => {
    const { gateway, first, second } = await overTwo()
    await spoil(second, BEHAVIOURS.failing)
    const named = records.map((record, index) => ({ ...record, id: `mine-${index}` }))
    const error = await errorOf(gateway.call('memory/remember', { records: named }))
    expect(error.data).toMatchObject({ upstream: 'two' })
    expect(error.data?.['remaining']).toEqual(expect.arrayContaining(['mine-0', 'mine-2']))
    expect(first.memory.records.map(({ id }) => id)).toEqual(['mine-0', 'mine-2'])
    await second.resume()
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
  await second.resume()
  expect(await gateway.call('memory/forget', { ids })).toMatchObject({ forgotten: 1 })
  expect(await gateway.contentsOf()).toEqual([])
})
