import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { type ConfigFile, type Gateway, startGateway } from '../support/gateway-under-test.js'
import { BEHAVIOURS } from '../support/http-behaviours.js'
import { type Conduct, onMethod, PlainServer, properly } from '../support/plain-server.js'
import { duration, until } from '../support/waiting.js'
import { gate } from './edge-fixture.js'

interface UnderTest {
  readonly gateway: Gateway
  readonly first: PlainServer
  readonly second: PlainServer
}

/** A gateway over two stores of others that answer calls of all kinds within twenty seconds. */
async function overTwo(settings: ConfigFile = {}): Promise<UnderTest> {
  const first = await PlainServer.start()
  const second = await PlainServer.start()
  const patient = { timeout: '20s', breaker: { failures: 1 } }
  const gateway = await startGateway({
    upstreams: { one: { url: first.url, ...patient }, two: { url: second.url, ...patient } },
    tiers: { one: { upstream: 'one' }, two: { upstream: 'two' } },
    ...settings,
  })
  await gateway.up('one', 'two')
  return { gateway, first, second }
}

/** Calls and can hang up; how the call ended for the caller is of no interest. */
function hangable(gateway: Gateway, method: 'memory/recall' | 'memory/remember', params: object) {
  const controller = new AbortController()
  const ended = gateway.call(method, params, { signal: controller.signal }).catch(() => undefined)
  return async () => {
    controller.abort()
    await ended
  }
}

describe('a caller that hangs up', () => {
  test('ends its recall: upstream connections close within 100 ms', { retry: 2 }, async () => {
    const { gateway, first, second } = await overTwo()
    const closed: Promise<unknown>[] = []
    const silent: Conduct = ({ response }) => closed.push(once(response, 'close'))
    for (const server of [first, second]) server.conduct = onMethod('memory/recall', silent)
    const hangUp = hangable(gateway, 'memory/recall', { query: 'x' })
    await Promise.all([first.received('memory/recall'), second.received('memory/recall')])
    await hangUp()
    expect(await duration(() => Promise.all(closed))).toBeLessThan(100 + 50)
    expect(closed).toHaveLength(2)
    const hangups = 'a2m_hangups_total{method="memory/recall"}'
    await until(async () => (await gateway.metric(hangups)) === 1)
    expect(await gateway.upstream('one')).toMatchObject({ state: 'up', breaker: 'closed' })
  })

  test('does not tear its write: all parts of it are done', async () => {
    const { gateway, first, second } = await overTwo()
    const waiting = gate()
    first.conduct = onMethod('memory/remember', async (exchange) => {
      await waiting.opened
      await properly(exchange)
    })
    const records = ['one', 'two'].map((tier) => ({ content: `quay ${tier}`, tier }))
    const before = first.callsOf('memory/remember')
    const hangUp = hangable(gateway, 'memory/remember', { records })
    await first.received('memory/remember', before + 1)
    await hangUp()
    await gateway.metrics()
    waiting.open()
    await until(() => second.memory.records.length === 1)
    const hangups = 'a2m_hangups_total{method="memory/remember"}'
    await until(async () => (await gateway.metric(hangups)) === 1)
    expect([first.contents, second.contents]).toEqual([['quay one'], ['quay two']])
  })
})

describe('SIGTERM', () => {
  test('with calls under way: they are answered, then it ends with 0', async () => {
    const { gateway, first } = await overTwo()
    const waiting = gate()
    first.conduct = async (exchange) => {
      await waiting.opened
      await properly(exchange)
    }
    const idle = connect(Number(new URL(gateway.url).port), '127.0.0.1')
    await once(idle, 'connect')
    const probes = first.callsOf('memory/remember')
    const recalls = Array.from({ length: 5 }, () =>
      gateway.call('memory/recall', { query: 'quay' }),
    )
    const write = gateway.remember({ content: 'the quay', tier: 'one' })
    await first.received('memory/recall', 5)
    await first.received('memory/remember', probes + 1)
    gateway.program.child.kill('SIGTERM')
    await gateway.program.told(/^(SIGTERM: finishing)/m)
    await expect(gateway.call('memory/recall', {})).rejects.toThrow()
    waiting.open()
    for (const { federation } of await Promise.all(recalls)) expect(federation?.partial).toBe(false)
    expect(await write).toBe(first.memory.records[0]?.id)
    expect(await gateway.program.ended()).toMatchObject({ code: 0, stdout: '' })
    idle.destroy()
  })

  test('with recalls that do not end: it ends with 0 when its limit is over', async () => {
    const { gateway, first } = await overTwo({ limits: { shutdown_timeout: '300ms' } })
    first.conduct = BEHAVIOURS.silent
    const cut = expect(gateway.call('memory/recall', { query: 'x' })).rejects.toThrow()
    await first.received('memory/recall')
    const ms = await duration(async () => expect(await gateway.stop()).toBe(0))
    expect(ms).toBeLessThan(300 + 2000)
    await cut
  })

  test('with a write that does not end: it says what it cut, and ends with 1', async () => {
    const { gateway, first } = await overTwo({ limits: { shutdown_timeout: '300ms' } })
    const probes = first.callsOf('memory/remember')
    first.conduct = BEHAVIOURS.silent
    const cut = expect(gateway.remember({ content: 'x', tier: 'one' })).rejects.toThrow()
    await first.received('memory/remember', probes + 1)
    expect(await gateway.stop()).toBe(1)
    expect(gateway.program.stderr).toMatch(/^a2m-gateway: closing took too long[^\n]*\n$/m)
    await cut
  })
})
