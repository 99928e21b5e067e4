import { describe, expect, test } from 'vitest'
import { type ConfigFile, type Gateway, startGateway } from '../support/gateway-under-test.js'
import { BEHAVIOURS, type HttpKind } from '../support/http-behaviours.js'
import { type Conduct, onMethod, PlainServer, properly } from '../support/plain-server.js'
import { until } from '../support/waiting.js'

const BEARER = 'bearer-canary-7d1f'
const QUERY = { query: 'harbour' }
const created_at = '2026-01-01T00:00:00.000Z'

interface UnderTest {
  readonly gateway: Gateway
  readonly bad: PlainServer
  readonly good: PlainServer
}

/** A gateway over a good upstream with one record and one that says what it should of itself and then does `conduct`. */
async function withBad(conduct: Conduct, settings: object = {}): Promise<UnderTest> {
  const bad = await PlainServer.start()
  const good = await PlainServer.start()
  good.memory.records.push({ id: 'good-1', content: 'the harbour', created_at })
  const gateway = await startGateway(configOf({ bad, good }, settings))
  await gateway.up('bad', 'good')
  bad.conduct = conduct
  return { gateway, bad, good }
}

function configOf(
  { bad, good }: Readonly<Record<'bad' | 'good', PlainServer>>,
  settings: object,
): ConfigFile {
  return {
    upstreams: {
      bad: { url: bad.url, auth: { bearer: BEARER }, timeout: '500ms', ...settings },
      good: { url: good.url, timeout: '10s' },
    },
    tiers: { first: { upstream: 'bad' }, second: { upstream: 'good' } },
    recall: { voters: { lexical: 0 } },
  }
}

/** What each kind of server is to be reported as. */
const FAULTS: { readonly [K in HttpKind]?: readonly [state: string, reason: RegExp] } = {
  html: ['failed', /not of type application\/json/],
  not_json: ['failed', /not JSON/],
  not_utf8: ['failed', /not UTF-8/],
  empty: ['failed', /empty/],
  half_a_body: ['failed', /ended before the reply was whole/],
  huge: ['failed', /over 16777216 bytes/],
  huge_chunked: ['failed', /over 16777216 bytes/],
  wrong_id: ['failed', /to another request/],
  wrong_result: ['failed', /not a result of memory\/recall/],
  notification: ['failed', /a notification/],
  redirect: ['failed', /status 307: redirects are not followed/],
  accepted: ['failed', /status 202/],
  unauthorized: ['failed', /refused the gateway's credential/],
  failing: ['failed', /status 500/],
  reset: ['failed', /ended before the reply was whole/],
  silent: ['timeout', /within the time limit/],
  headers_only: ['timeout', /within the time limit/],
  trickle: ['timeout', /within the time limit/],
}
const KINDS = Object.keys(FAULTS) as (keyof typeof FAULTS)[]

/** A tier for each kind of bad server, whose records are in the good one as well. */
function everyKind(good: PlainServer, bad: ReadonlyMap<HttpKind, PlainServer>): ConfigFile {
  const upstreams = [...bad].map(([kind, { url }]) => {
    const timeout = FAULTS[kind]?.[0] === 'timeout' ? '300ms' : '10s'
    return [kind, { url, auth: { bearer: BEARER }, timeout }]
  })
  const tiers = [...bad.keys()].map((kind) => [kind, { upstream: kind, also: ['good'] }])
  return {
    upstreams: { good: { url: good.url, timeout: '10s' }, ...Object.fromEntries(upstreams) },
    tiers: Object.fromEntries(tiers),
  }
}

describe('a fault of one upstream', () => {
  test('is named, counted and contained', async () => {
    const good = await PlainServer.start({ capabilities: ['core', 'tiers'], tiers: KINDS })
    for (const tier of KINDS) {
      good.memory.records.push({ id: `good-${tier}`, content: 'the harbour', created_at, tier })
    }
    const bad = new Map<HttpKind, PlainServer>()
    for (const kind of KINDS) {
      const conduct = onMethod('memory/recall', BEHAVIOURS[kind])
      bad.set(kind, await PlainServer.start({}, conduct))
    }
    const gateway = await startGateway(everyKind(good, bad))
    for (const kind of KINDS) {
      await gateway.up(kind)
      const { records, federation } = await gateway.call('memory/recall', { ...QUERY, tier: kind })
      expect(records).toMatchObject([{ id: `good-${kind}`, tier: kind }])
      const [state, reason] = FAULTS[kind] ?? []
      expect([kind, federation]).toMatchObject([
        kind,
        {
          partial: true,
          upstreams: {
            [kind]: { state, count: 0, reason: expect.stringMatching(reason ?? '') },
            good: { state: 'ok', count: 1 },
          },
        },
      ])
      const told = JSON.stringify(federation)
      expect(told).not.toContain(BEARER)
      expect(told).not.toContain('127.0.0.1')
      const series = `a2m_asks_total{upstream="${kind}",method="memory/recall",state="${state}"}`
      expect([kind, await gateway.metric(series)]).toEqual([kind, 1])
    }
    expect(bad.get('redirect')?.requests.map(({ path }) => path)).not.toContain('/elsewhere')
    expect(await gateway.metric('a2m_bad_replies_total{upstream="html"}')).toBe(1)
    expect(await gateway.metric('a2m_bad_replies_total{upstream="good"}')).toBe(0)
    expect(await gateway.metrics()).not.toContain(BEARER)
  })

  test('an error that it answers is a gap with its code, and no outage', async () => {
    const settings = { breaker: { failures: 1 } }
    const { gateway } = await withBad(onMethod('memory/recall', BEHAVIOURS.refusing), settings)
    for (let turn = 0; turn < 3; turn++) {
      const { federation } = await gateway.call('memory/recall', QUERY)
      expect(federation).toMatchObject({
        partial: true,
        upstreams: { bad: { state: 'refused', code: -32002 } },
      })
    }
    expect(await gateway.upstream('bad')).toMatchObject({ state: 'up', breaker: 'closed' })
  })
})

describe('an answer that is not what the protocol says is put right and counted', () => {
  const low = { id: 'b1', content: 'harbour low', created_at, score: 0.1 }
  const high = { id: 'b2', content: 'harbour high', created_at, score: 0.9 }

  test('scores that ascend, a record that comes twice, 500 where eight were asked for', async () => {
    const many = Array.from({ length: 500 }, (_, index) => ({ ...low, id: `b${index}` }))
    const rows = [
      ['a2m_ascending_scores_total', [low, high], ['b2', 'b1']],
      ['a2m_duplicate_records_total', [high, high, low], ['b2', 'b1']],
      ['a2m_over_limit_records_total', many, ['b0', 'b1', 'b2', 'b3', 'b4', 'b5', 'b6']],
    ] as const
    const { gateway, bad } = await withBad(properly)
    for (const [name, records, ids] of rows) {
      bad.conduct = onMethod('memory/recall', ({ sendResult }) => sendResult({ records }))
      const series = `${name}{upstream="bad"}`
      expect([name, await gateway.metric(series)]).toEqual([name, 0])
      const answer = await gateway.call('memory/recall', QUERY)
      const told = answer.records.map(({ id }) => id)
      expect(told).toContain('good-1')
      expect([name, told.filter((id) => id !== 'good-1')]).toEqual([name, ids])
      expect(answer.federation).toMatchObject({
        partial: false,
        upstreams: { bad: { state: 'ok' } },
      })
      expect(await gateway.metric(series)).toBeGreaterThan(0)
    }
  })

  test('times with offsets and without fractions are ordered by instant and told in UTC', async () => {
    const times = [
      '2026-01-01T03:30:00+02:00',
      '2026-01-01T01:00:00Z',
      '2026-01-01T02:00:00.123456Z',
    ]
    const records = times.map((created_at, index) => ({ ...low, id: `b${index}`, created_at }))
    const conduct = onMethod('memory/timeline', ({ sendResult }) => sendResult({ records }))
    const { gateway } = await withBad(conduct)
    const answer = await gateway.call('memory/timeline', { limit: 0 })
    expect(answer.records.map(({ id, created_at }) => [id, created_at])).toEqual([
      ['good-1', '2026-01-01T00:00:00.000Z'],
      ['b1', '2026-01-01T01:00:00.000Z'],
      ['b0', '2026-01-01T01:30:00.000Z'],
      ['b2', '2026-01-01T02:00:00.123Z'],
    ])
  })
})

test('what an upstream says of the credential in its error stays here', async () => {
  const refuse: Conduct = ({ send, request }) => {
    const message = `no: ${request.rawHeaders.join(' ')}`
    send(JSON.stringify({ jsonrpc: '2.0', id: request.id, error: { code: -32602, message } }))
  }
  const { gateway } = await withBad(refuse)
  const records = [{ content: 'x', tier: 'first' }]
  const thrown = await gateway.call('memory/remember', { records }).catch((error) => error)
  expect(thrown).toMatchObject({ code: -32602 })
  expect(thrown.message).toContain('authorization')
  expect(JSON.stringify([thrown.message, thrown.data])).not.toContain(BEARER)
})

describe('versions', () => {
  const newer: Conduct = onMethod('memory/describe', ({ sendResult }) =>
    sendResult({ protocol: 'a2m/0.2', name: 'newer', capabilities: ['core'], methods: [] }),
  )

  test.each([
    ['describes another version', newer],
    ['refuses ours', onMethod('memory/describe', BEHAVIOURS.other_version)],
  ])('an upstream that %s is kept out and named until it does not', async (_, conduct) => {
    const bad = await PlainServer.start({}, conduct)
    const good = await PlainServer.start()
    const gateway = await startGateway(configOf({ bad, good }, {}))
    await until(async () => (await gateway.upstream('bad')).state === 'incompatible')
    const { federation } = await gateway.call('memory/recall', QUERY)
    expect(federation).toMatchObject({
      partial: true,
      upstreams: {
        bad: { state: 'failed', reason: expect.stringMatching(/speaks a.*not a2m\/0\.1/) },
      },
    })
    await expect(gateway.remember({ content: 'x', tier: 'first' })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringMatching(/nothing can be written to "first".*bad/),
    })
    expect(bad.callsOf('memory/recall') + bad.callsOf('memory/remember')).toBe(0)
    bad.conduct = properly
    await gateway.up('bad')
    expect((await gateway.call('memory/recall', QUERY)).federation?.partial).toBe(false)
  })

  test('a caller of another version is told so with a 400, before its body is looked at', async () => {
    const { gateway, good } = await withBad(properly)
    const before = good.requests.length
    const headers = { 'a2m-protocol-version': 'a2m/0.2' }
    const response = await gateway.post('no JSON', { headers })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      id: null,
      error: { code: -32007, data: { supported: ['a2m/0.1'] } },
    })
    expect(good.requests).toHaveLength(before)
  })
})
