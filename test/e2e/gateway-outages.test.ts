import { describe, expect, test } from 'vitest'
import { startBadUpstream } from '../support/bad-upstream.js'
import { emptyFolder, run } from '../support/gateway-process.js'
import {
  type ConfigFile,
  configIn,
  type Gateway,
  keyEntry,
  keyOf,
  startGateway,
} from '../support/gateway-under-test.js'
import { BEHAVIOURS } from '../support/http-behaviours.js'
import { onMethod, PlainServer } from '../support/plain-server.js'
import { duration, percentile, until } from '../support/waiting.js'

const TIMEOUT = 400
/** For a machine that is busy with other tests; what is to be told apart is longer by seconds. */
const SLACK = 500
const QUERY = { query: 'harbour' }

/** Upstreams by URL in their order, each with a tier of its own. */
function over(urls: Readonly<Record<string, string>>, settings: object = {}): ConfigFile {
  const names = Object.keys(urls)
  return {
    upstreams: Object.fromEntries(
      names.map((name) => [name, { url: urls[name], timeout: `${TIMEOUT}ms`, ...settings }]),
    ),
    tiers: Object.fromEntries(names.map((name) => [`tier-${name}`, { upstream: name }])),
  }
}

async function withRecord(): Promise<PlainServer> {
  const server = await PlainServer.start()
  server.memory.records.push({
    id: 'r1',
    content: 'the harbour',
    created_at: '2026-01-01T00:00:00.000Z',
  })
  return server
}

type Kind = 'fine' | 'refusing' | 'hanging'

const ORDERS: readonly (readonly Kind[])[] = [
  ['fine', 'refusing', 'hanging'],
  ['fine', 'hanging', 'refusing'],
  ['refusing', 'fine', 'hanging'],
  ['hanging', 'fine', 'refusing'],
  ['refusing', 'hanging', 'fine'],
  ['hanging', 'refusing', 'fine'],
]

const namesIn = (order: readonly Kind[]) => order.map((kind) => `${order.join('-')}_${kind}`)

/** One tier for each order, over three upstreams that stand in that order. */
function inEveryOrder(urls: Readonly<Record<Kind, string>>): ConfigFile {
  const upstreams = ORDERS.flatMap((order) =>
    namesIn(order).map((name, index) => [
      name,
      { url: urls[order[index] ?? 'fine'], timeout: `${TIMEOUT}ms` },
    ]),
  )
  const tiers = ORDERS.map((order) => {
    const [upstream, ...also] = namesIn(order)
    return [order.join('-'), { upstream, also }]
  })
  return { upstreams: Object.fromEntries(upstreams), tiers: Object.fromEntries(tiers) }
}

/** Bad before the gateway is there. */
async function badFromTheStart(): Promise<Gateway> {
  const urls = {
    fine: (await withRecord()).url,
    refusing: (await startBadUpstream('refused')).url.href,
    hanging: (await startBadUpstream('tcp_silent')).url.href,
  }
  return startGateway(inEveryOrder(urls))
}

/** Good at first, so that the gateway knows them. */
async function badLater(): Promise<Gateway> {
  const fine = await withRecord()
  const refusing = await PlainServer.start()
  const hanging = await PlainServer.start()
  const urls = { fine: fine.url, refusing: refusing.url, hanging: hanging.url }
  const gateway = await startGateway(inEveryOrder(urls))
  await gateway.up(...ORDERS.flatMap(namesIn))
  await refusing.stop()
  hanging.conduct = BEHAVIOURS.silent
  return gateway
}

test.each([
  ['from the start', badFromTheStart, 'failed'],
  ['later', badLater, 'timeout'],
] as const)('one refuses and one hangs, %s: a marked answer in time', async (_, start, hanging) => {
  const gateway = await start()
  const best = new Map(ORDERS.map((order) => [order.join('-'), Number.POSITIVE_INFINITY]))
  for (let turn = 0; turn < 3; turn++) {
    const recalls = [...best].map(async ([tier, before]) => {
      const ms = await duration(() => markedAnswer(gateway, tier, hanging))
      best.set(tier, Math.min(before, ms))
    })
    await Promise.all(recalls)
  }
  expect(Math.max(...best.values())).toBeLessThan(TIMEOUT + 250)
})

async function markedAnswer(gateway: Gateway, tier: string, hanging: string): Promise<void> {
  const { records, federation } = await gateway.call('memory/recall', { ...QUERY, tier })
  expect(records).toMatchObject([{ content: 'the harbour', tier }])
  expect(federation).toMatchObject({
    partial: true,
    upstreams: {
      [`${tier}_fine`]: { state: 'ok', count: 1 },
      [`${tier}_refusing`]: { state: 'failed', reason: expect.any(String) },
      [`${tier}_hanging`]: { state: hanging, reason: expect.any(String) },
    },
  })
}

test('the very first call waits for one that hangs no longer than its limit', async () => {
  const gateway = await badFromTheStart()
  const ms = await duration(() => markedAnswer(gateway, 'hanging-fine-refusing', 'failed'))
  expect(ms).toBeLessThan(TIMEOUT + 250 + SLACK)
})

describe('nobody answers', () => {
  test.each([
    ['with configured tiers', (config: ConfigFile) => config],
    ['without', ({ upstreams }: ConfigFile) => ({ upstreams })],
  ])('from the start, %s: an error and no empty list', async (_, shape) => {
    const refused = await startBadUpstream('refused')
    const silent = await startBadUpstream('tcp_silent')
    const gateway = await startGateway(
      shape(over({ refusing: refused.url.href, hanging: silent.url.href })),
    )
    for (const method of ['memory/recall', 'memory/timeline'] as const) {
      await expect(gateway.call(method, {})).rejects.toMatchObject({
        code: -32603,
        data: { federation: { partial: true, upstreams: { refusing: {}, hanging: {} } } },
      })
    }
    expect((await fetch(new URL('/health/ready', gateway.url))).status).toBe(503)
  })

  test('later: an error, then a whole answer when they are back', async () => {
    const server = await withRecord()
    const gateway = await startGateway(over({ a: server.url }))
    await gateway.up('a')
    await server.stop()
    await expect(gateway.call('memory/recall', QUERY)).rejects.toMatchObject({ code: -32603 })
    await server.resume()
    const { records, federation } = await gateway.call('memory/recall', QUERY)
    expect(records).toHaveLength(1)
    expect(federation).toMatchObject({ partial: false })
  })
})

test('a command that does not exist: the others serve, describe and check name it', async () => {
  const server = await withRecord()
  const config = {
    auth: { keys: [keyEntry('root', '*'), keyEntry('anna')] },
    upstreams: {
      gone: { command: ['no-such-program-of-a2m'] },
      here: { url: server.url, access: 'read-only' },
    },
    tiers: { lost: { upstream: 'gone' }, found: { upstream: 'here' } },
  }
  const cwd = emptyFolder()
  const gateway = await startGateway(config, { cwd })
  const key = keyOf('root')
  const { records, federation } = await gateway.call('memory/recall', QUERY, { key })
  expect(records).toHaveLength(1)
  expect(federation).toMatchObject({ partial: true, upstreams: { gone: { state: 'failed' } } })
  const description = await gateway.call('memory/describe', {}, { key })
  expect(description.federation?.upstreams).toEqual({ gone: 'unread', here: 'up' })
  expect(description.tiers).toMatchObject([{ name: 'lost', stale: true }, { name: 'found' }])
  const toAnna = await gateway.call('memory/describe', {}, { key: keyOf('anna') })
  expect(toAnna.federation).toBeUndefined()
  const checked = await run(['check', '--config', configIn(cwd, config)], { cwd })
  expect(checked.code).toBe(1)
  expect(checked.stdout).toMatch(
    /^wrong: upstream gone is unread: the process could not be started/m,
  )
})

test('five seconds added to one of four: its limit is the worst, until its breaker is open', async () => {
  const failures = 5
  const limit = 150
  const slow = await PlainServer.start()
  const quick = [await withRecord(), await PlainServer.start(), await PlainServer.start()]
  const [a = '', b = '', d = ''] = quick.map(({ url }) => url)
  const settings = { timeout: `${limit}ms`, breaker: { failures, reset: '1h' } }
  const gateway = await startGateway(over({ a, b, slow: slow.url, d }, settings))
  await gateway.up('a', 'b', 'slow', 'd')
  slow.conduct = onMethod('memory/recall', ({ sendResult }) => {
    setTimeout(() => sendResult({ records: [] }), 5000).unref()
  })
  const times: number[] = []
  for (let turn = 0; turn < 40; turn++) {
    times.push(await duration(() => gateway.call('memory/recall', QUERY)))
  }
  expect(percentile(times, 0.95)).toBeLessThan(limit + 50 + SLACK)
  expect(percentile(times.slice(failures), 0.9)).toBeLessThan(limit)
  expect(slow.callsOf('memory/recall')).toBe(failures)
  expect(await gateway.upstream('slow')).toMatchObject({ state: 'down', breaker: 'open' })
})

test('an upstream that comes after the gateway is used as soon as it is there', async () => {
  const late = await withRecord()
  await late.stop()
  const gateway = await startGateway(
    over({ late: late.url, here: (await PlainServer.start()).url }),
  )
  const before = await gateway.call('memory/recall', QUERY)
  expect(before.federation).toMatchObject({ partial: true, upstreams: { late: {} } })
  await late.resume()
  await gateway.up('late')
  const { records, federation } = await gateway.call('memory/recall', QUERY)
  expect(records).toMatchObject([{ content: 'the harbour', tier: 'tier-late' }])
  expect(federation).toMatchObject({ partial: false })
  await gateway.remember({ content: 'the quay', tier: 'tier-late' })
  expect(late.contents).toEqual(['the harbour', 'the quay'])
})

test('an upstream that goes and comes back under traffic: answers are marked, then whole', async () => {
  const steady = await withRecord()
  const shaky = await PlainServer.start()
  const settings = { breaker: { failures: 3, reset: '100ms' }, timeout: '5s' }
  const gateway = await startGateway(over({ steady: steady.url, shaky: shaky.url }, settings))
  await gateway.up('steady', 'shaky')
  const partial = async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => gateway.call('memory/recall', QUERY)),
    )
    for (const { records } of answers) expect(records).toHaveLength(1)
    return new Set(answers.map(({ federation }) => federation?.partial))
  }
  expect(await partial()).toEqual(new Set([false]))
  await shaky.stop()
  await until(async () => (await partial()).has(true))
  await until(async () => (await gateway.upstream('shaky')).breaker === 'open')
  expect(await partial()).toEqual(new Set([true]))
  await shaky.resume()
  await until(async () => !(await partial()).has(true))
  for (let turn = 0; turn < 3; turn++) expect(await partial()).toEqual(new Set([false]))
  expect(await gateway.upstream('shaky')).toMatchObject({ state: 'up', breaker: 'closed' })
})
