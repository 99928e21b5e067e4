import { once } from 'node:events'
import { createServer } from 'node:http'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { A2mError } from '../../src/protocol/errors.js'
import { type Gateway, keyEntry, keyOf, startGateway } from '../support/gateway-under-test.js'
import { startPostgres, startRedis } from '../support/services.js'
import { until } from '../support/waiting.js'

const auth = { keys: [keyEntry('alice'), keyEntry('bob')] }
const alice = { key: keyOf('alice') }
const daily = { of: 'calls', per: 'caller', window: 'day', limit: 100 }

/** One store, and limits of time that a busy machine keeps to: what is counted here is who is let through. */
const patient = {
  upstreams: { a: { store: 'sqlite', path: 'a.db', timeout: '60s' } },
  tiers: { notes: { kind: 'episodic', upstream: 'a' } },
  limits: { request_timeout: '60s', receive_timeout: '60s' },
}

interface Shared {
  readonly redis: string
  readonly onFailure?: string
  readonly timeout?: string
  readonly quotas?: object
  readonly config?: object
}

/** Two gateways that count together, each with stores of its own. */
function twoGateways(shared: Shared): Promise<readonly [Gateway, Gateway]> {
  return Promise.all([start('one', shared), start('two', shared)])
}

function start(name: string, { redis, onFailure = 'local', ...shared }: Shared): Promise<Gateway> {
  const { timeout = '2s', quotas = {}, config = {} } = shared
  return startGateway({
    name,
    auth,
    ...patient,
    ...config,
    quotas: {
      limits: { calls: daily },
      redis,
      redis_timeout: timeout,
      on_failure: onFailure,
      gateways: 2,
      ...quotas,
    },
  })
}

/** What became of one call: 0 is a result. What a busy gateway has not read in time is sent again. */
async function outcome(gateway: Gateway): Promise<number> {
  try {
    await gateway.call('memory/recall', { query: 'x' }, alice)
    return 0
  } catch (thrown) {
    if (thrown instanceof A2mError) return thrown.code
    if (!/answered with 408/.test(String(thrown))) throw thrown
    return outcome(gateway)
  }
}

/** How many of so many calls at once pass; the others are refused by the limit, or with `code`. */
async function passed(gateways: readonly Gateway[], calls: number, code = -32006): Promise<number> {
  const made = Array.from({ length: calls }, (_, index) => {
    const gateway = gateways[index % gateways.length]
    return gateway === undefined ? Promise.resolve(-1) : outcome(gateway)
  })
  const outcomes = await Promise.all(made)
  expect(outcomes.filter((one) => one !== 0 && one !== code)).toEqual([])
  return outcomes.filter((one) => one === 0).length
}

const isUp = (gateway: Gateway, up: 0 | 1) => async () =>
  (await gateway.metric('a2m_quota_store_state{store="redis",state="up"}')) === up

test('of 1,000 calls at once over two gateways against 100, exactly 100 pass, and the ledger says so', async () => {
  const [redis, postgres] = await Promise.all([startRedis(), startPostgres()])
  const config = { usage: { ledger: { postgres: postgres.url } } }
  const gateways = await twoGateways({ redis: redis.url, config })
  expect(await passed(gateways, 1000)).toBe(100)
  for (const gateway of gateways) expect(await gateway.stop()).toBe(0)
  const client = new pg.Client(postgres.url)
  await client.connect()
  onTestFinished(() => client.end())
  const { rows } = await client.query(
    'SELECT outcome, sum(calls)::int AS calls FROM usage_calls GROUP BY outcome ORDER BY calls',
  )
  expect(rows).toEqual([
    { outcome: 'ok', calls: 100 },
    { outcome: 'QUOTA_EXCEEDED', calls: 900 },
  ])
}, 180_000)

describe('while Redis is away', () => {
  test('local: each gateway gives its part of what was left, and all is counted in the end', async () => {
    const redis = await startRedis()
    const gateways = await twoGateways({ redis: redis.url })
    const [one, two] = gateways
    expect(await passed(gateways, 40)).toBe(40)
    expect([await outcome(one), await outcome(two)]).toEqual([0, 0])
    await redis.stop()
    for (const gateway of gateways) await until(isUp(gateway, 0))
    // Of 100, the one knows of 41 and the other of 42.
    expect([await passed([one], 60), await passed([two], 10)]).toEqual([29, 10])
    expect(await one.metric('a2m_quota_alone_total')).toBe(60)
    await redis.start()
    for (const gateway of gateways) await until(isUp(gateway, 1))
    expect(await passed(gateways, 50)).toBe(100 - 42 - 39)
  })

  test('open: nobody is refused, and all is counted in the end', async () => {
    const redis = await startRedis()
    const gateway = await start('one', { redis: redis.url, onFailure: 'open' })
    expect(await passed([gateway], 70)).toBe(70)
    await redis.stop()
    expect(await passed([gateway], 50)).toBe(50)
    await redis.start()
    await until(isUp(gateway, 1))
    expect(await passed([gateway], 10)).toBe(0)
  })

  test('closed: nothing is done, and that says so', async () => {
    const redis = await startRedis()
    const gateway = await start('one', { redis: redis.url, onFailure: 'closed' })
    expect(await passed([gateway], 70)).toBe(70)
    await redis.stop()
    expect(await passed([gateway], 50, -32603)).toBe(0)
    await redis.start()
    await until(isUp(gateway, 1))
    expect(await passed([gateway], 50)).toBe(30)
  })

  test('one that takes connections and answers nothing holds up no call', async () => {
    const redis = await startRedis()
    const gateway = await start('one', { redis: redis.url, timeout: '1s' })
    expect(await outcome(gateway)).toBe(0)
    redis.pause()
    const begun = performance.now()
    for (let call = 0; call < 40; call++) expect(await outcome(gateway)).toBe(0)
    expect(performance.now() - begun).toBeLessThan(10_000)
    expect(await isUp(gateway, 0)()).toBe(true)
    redis.resume()
    await until(isUp(gateway, 1))
    expect(await outcome(gateway)).toBe(0)
  })

  test.each([
    ['is not there', 'stop', 'start'],
    ['answers nothing', 'pause', 'resume'],
  ] as const)(
    'a gateway starts where it %s, and takes it into use later',
    async (_, away, back) => {
      const redis = await startRedis()
      await redis[away]()
      const gateway = await start('one', { redis: redis.url })
      expect(await passed([gateway], 60)).toBe(50)
      await redis[back]()
      await until(isUp(gateway, 1))
      expect(await passed([gateway], 60)).toBe(50)
    },
  )

  test('its log says so once, without the password', async () => {
    const redis = await startRedis()
    const url = redis.url.replace('redis://', 'redis://:canary-of-redis@')
    const gateway = await start('one', { redis: url, config: { log: { level: 'debug' } } })
    await redis.stop()
    await passed([gateway], 20)
    await until(() => gateway.program.stderr.includes('the counts of quotas are not kept'))
    await gateway.stop()
    const { stderr } = gateway.program
    expect(stderr.match(/the counts of quotas are not kept/g)).toHaveLength(1)
    expect(stderr).toContain('Redis is away: the counts of quotas are not kept')
    expect(stderr).toContain(`"redis":"${new URL(redis.url).host}"`)
    expect(stderr).toContain('"on_failure":"local","meanwhile":"this gateway gives its share')
    expect(stderr).not.toContain('canary-of-redis')
  })
})

test('a soft limit is told to the webhook once over all gateways', async () => {
  const told: unknown[] = []
  const server = createServer((request, response) => {
    request.setEncoding('utf8').once('data', (text) => told.push(JSON.parse(text)))
    request.once('end', () => response.writeHead(204).end())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  const redis = await startRedis()
  const gateways = await twoGateways({
    redis: redis.url,
    quotas: {
      limits: { calls: { ...daily, soft: 0.5 } },
      webhook: { url: `http://127.0.0.1:${port}/` },
    },
  })
  expect(await passed(gateways, 90)).toBe(90)
  await until(() => told.length > 0)
  for (const gateway of gateways) expect(await gateway.stop()).toBe(0)
  expect(told).toEqual([
    expect.objectContaining({
      type: 'a2m.quota.warned',
      limit: 'calls',
      subject: 'alice',
      max: 100,
    }),
  ])
})
