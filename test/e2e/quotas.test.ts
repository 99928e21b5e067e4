import { describe, expect, test } from 'vitest'
import { A2mError } from '../../src/protocol/errors.js'
import { emptyFolder } from '../support/gateway-process.js'
import {
  type Calling,
  type Gateway,
  keyEntry,
  keyOf,
  startGateway,
} from '../support/gateway-under-test.js'
import { PlainServer, properly } from '../support/plain-server.js'
import { until } from '../support/waiting.js'
import { gate } from './edge-fixture.js'

const auth = { keys: [keyEntry('alice'), keyEntry('bob', 'bob', ['batch']), keyEntry('root', '*')] }
const alice = { key: keyOf('alice') }
const bob = { key: keyOf('bob') }

const daily = { of: 'calls', per: 'caller', window: 'day', limit: 100 }

/** One store, and limits of time that a busy machine keeps to: what is counted here is who is let through. */
const patient = {
  upstreams: { a: { store: 'sqlite', path: 'a.db', timeout: '60s' } },
  tiers: { notes: { kind: 'episodic', upstream: 'a' } },
  limits: { request_timeout: '60s', receive_timeout: '60s' },
}

function limitedGateway(limits: object, setup: { readonly cwd?: string } = {}): Promise<Gateway> {
  return startGateway({ ...patient, auth, quotas: { limits } }, setup)
}

const RECALL = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'memory/recall',
  params: { query: 'x' },
})

function headersOf({ headers }: Response): object {
  const names = ['ratelimit-policy', 'ratelimit', 'retry-after', 'a2m-quota-warning']
  const told = names.map((name) => [name, headers.get(name)] as const)
  return Object.fromEntries(told.filter(([, value]) => value !== null))
}

/** What became of one call: 0 is a result. What a busy gateway has not read in time is sent again. */
async function outcome(gateway: Gateway, calling: Calling = alice): Promise<number> {
  try {
    await gateway.call('memory/recall', { query: 'x' }, calling)
    return 0
  } catch (thrown) {
    if (thrown instanceof A2mError) return thrown.code
    if (!/answered with 408/.test(String(thrown))) throw thrown
    return outcome(gateway, calling)
  }
}

/** What became of so many calls at once, by code. */
async function burst(gateway: Gateway, calls: number): Promise<Map<number, number>> {
  const outcomes = new Map<number, number>()
  for (const code of await Promise.all(Array.from({ length: calls }, () => outcome(gateway)))) {
    outcomes.set(code, (outcomes.get(code) ?? 0) + 1)
  }
  return outcomes
}

describe('over HTTP', () => {
  test('every answer says how limits stand, and a refusal when to come again', async () => {
    const gateway = await limitedGateway({
      calls: { ...daily, limit: 2, soft: 0.5 },
      unseen: { ...daily, limit: 0, shadow: true },
    })
    const first = await gateway.post(RECALL, alice)
    const [, reset = ''] = /^"calls";r=1;t=(\d+)$/.exec(first.headers.get('ratelimit') ?? '') ?? []
    expect(Number(reset)).toBeGreaterThan(0)
    expect(headersOf(first)).toEqual({
      'ratelimit-policy': '"calls";q=2;w=86400',
      ratelimit: `"calls";r=1;t=${reset}`,
      'a2m-quota-warning': '"calls"',
    })
    await gateway.post(RECALL, alice)
    const refused = await gateway.post(RECALL, alice)
    expect(refused.status).toBe(200)
    expect(headersOf(refused)).toMatchObject({
      ratelimit: expect.stringMatching(/^"calls";r=0;t=\d+$/),
      'retry-after': expect.stringMatching(/^\d+$/),
    })
    expect(await refused.json()).toMatchObject({
      error: { code: -32006, data: { limit: 'calls', max: 2, used: 2, window: 86_400 } },
    })
    expect(await gateway.metric('a2m_quota_refusals_total{limit="calls"}')).toBe(1)
    expect(await gateway.metric('a2m_quota_shadow_refusals_total{limit="unseen"}')).toBe(2)
    expect(await gateway.metric('a2m_quota_warnings_total{limit="calls"}')).toBe(1)
    expect((await gateway.metrics()).match(/alice/g)).toBeNull()
  })

  test('what counts against no limit says nothing of any', async () => {
    const gateway = await limitedGateway({ calls: { ...daily, limit: 0, roles: ['batch'] } })
    expect(headersOf(await gateway.post(RECALL, alice))).toEqual({})
    await expect(gateway.call('memory/recall', { query: 'x' }, bob)).rejects.toMatchObject({
      code: -32006,
    })
    expect((await gateway.call('memory/describe', {}, bob)).protocol).toBe('a2m/0.1')
  })

  test('of 1,000 calls at once against 100, exactly 100 pass', async () => {
    const gateway = await limitedGateway({ calls: daily })
    expect(await burst(gateway, 1000)).toEqual(
      new Map([
        [0, 100],
        [-32006, 900],
      ]),
    )
  })

  test('what fails is given back', async () => {
    const gateway = await limitedGateway({ calls: { ...daily, limit: 1 } })
    await expect(
      gateway.call('memory/recall', { query: 'x', tier: 'none' }, alice),
    ).rejects.toMatchObject({ code: -32002 })
    await expect(
      gateway.call('memory/forget', { owner: 'bob', tier: 'notes' }, alice),
    ).rejects.toMatchObject({ code: -32005 })
    expect((await gateway.post(RECALL, alice)).headers.get('ratelimit')).toMatch(/^"calls";r=0;/)
  })
})

test('a read that is hung up on is given back, a write that had begun is counted', async () => {
  const server = await PlainServer.start()
  const gateway = await startGateway({
    upstreams: { a: { url: server.url, timeout: '20s' } },
    tiers: { notes: { upstream: 'a' } },
    quotas: { limits: { calls: { ...daily, limit: 2 } } },
  })
  await gateway.up('a')
  const waiting = gate()
  server.conduct = async (exchange) => {
    if (exchange.method === 'memory/recall') return
    await waiting.opened
    await properly(exchange)
  }
  const hangUp = async (method: 'memory/recall' | 'memory/remember', params: object) => {
    const controller = new AbortController()
    const called = server.callsOf(method)
    const { signal } = controller
    const ended = gateway.call(method, params, { signal }).catch(() => undefined)
    await server.received(method, called + 1)
    controller.abort()
    await ended
  }
  for (const _ of Array(3)) await hangUp('memory/recall', { query: 'x' })
  await hangUp('memory/remember', { records: [{ content: 'quay' }] })
  const hangups = (method: string) => gateway.metric(`a2m_hangups_total{method="${method}"}`)
  // Whoever answers this has also seen who left before it was asked.
  await until(async () => (await hangups('memory/recall')) === 3)
  waiting.open()
  await until(async () => (await hangups('memory/remember')) === 1)
  server.conduct = properly
  const calls = [await outcome(gateway, {}), await outcome(gateway, {})]
  expect(calls).toEqual([0, -32006])
})

describe('what is written', () => {
  test('records and characters of a batch count together, or the batch does not', async () => {
    const gateway = await limitedGateway({
      records: { of: 'records', per: 'owner', window: 'month', limit: 5 },
      characters: { of: 'characters', per: 'owner', window: 'month', limit: 20 },
    })
    const batch = (...contents: string[]) =>
      gateway.call('memory/remember', { records: contents.map((content) => ({ content })) }, alice)
    await batch('東京'.repeat(5), 'a', 'b')
    await expect(batch('a', 'b', 'c')).rejects.toMatchObject({
      data: { limit: 'records', used: 3 },
    })
    await expect(batch('123456789')).rejects.toMatchObject({
      data: { limit: 'characters', used: 12, asked: 9 },
    })
    await batch('12345678')
    expect(await gateway.contentsOf({}, alice)).toHaveLength(4)
  })

  test('a stock has room again once records are forgotten', async () => {
    const gateway = await limitedGateway({ stock: { of: 'stock', per: 'owner', limit: 3 } })
    const ids = await Promise.all(
      ['a', 'b', 'c'].map((content) => gateway.remember({ content }, alice)),
    )
    await expect(gateway.remember({ content: 'd' }, alice)).rejects.toMatchObject({
      code: -32006,
      data: { of: 'stock', max: 3, used: 3 },
    })
    await gateway.remember({ content: 'bob has room' }, bob)
    await gateway.call('memory/forget', { ids: ids.slice(0, 1) }, alice)
    await until(async () => {
      const written = gateway.remember({ content: 'd' }, alice)
      return written.then(
        () => true,
        () => false,
      )
    })
    await expect(gateway.remember({ content: 'e' }, alice)).rejects.toMatchObject({ code: -32006 })
  })
})

describe('counts outlive the gateway', () => {
  test.each(['kill', 'stop'] as const)('after a %s', async (end) => {
    const cwd = emptyFolder()
    const limits = { calls: { ...daily, limit: 40 } }
    const first = await limitedGateway(limits, { cwd })
    expect((await burst(first, 30)).get(0)).toBe(30)
    await first[end]()
    const second = await limitedGateway(limits, { cwd })
    expect(await burst(second, 30)).toEqual(
      new Map([
        [0, 10],
        [-32006, 20],
      ]),
    )
  })

  test('a kill under load loses nothing that was answered', async () => {
    const cwd = emptyFolder()
    const limits = { calls: { ...daily, limit: 2000 } }
    const first = await limitedGateway(limits, { cwd })
    let answered = 0
    const load = Array.from({ length: 16 }, async () => {
      for (;;) {
        const response = await first.post(RECALL, alice).catch(() => undefined)
        if (response === undefined) return
        if (await response.text().catch(() => undefined)) answered++
      }
    })
    await until(() => answered > 300)
    await first.kill()
    await Promise.all(load)
    const second = await limitedGateway(limits, { cwd })
    const told = (await second.post(RECALL, alice)).headers.get('ratelimit') ?? ''
    const used = 2000 - Number(/;r=(\d+);/.exec(told)?.[1]) - 1
    expect(used).toBeGreaterThanOrEqual(answered)
    expect(used).toBeLessThanOrEqual(answered + 16 + 40)
  })
})
