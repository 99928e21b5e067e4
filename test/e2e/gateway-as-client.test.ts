import { expect, test } from 'vitest'
import { METHOD_NAMES } from '../../src/protocol/methods.js'
import { type Gateway, startGateway } from '../support/gateway-under-test.js'
import { meets } from '../support/meets.js'
import type { PlainOptions } from '../support/plain-memory.js'
import { type Conduct, onMethod, PlainServer, properly } from '../support/plain-server.js'
import { until } from '../support/waiting.js'

const created_at = '2026-01-01T00:00:00.000Z'
const CORE = ['describe', 'remember', 'recall', 'timeline', 'forget'].map((m) => `memory/${m}`)

interface UnderTest {
  readonly gateway: Gateway
  readonly upstream: PlainServer
}

/** A gateway over one server of somebody else's. */
async function over(
  options: PlainOptions = {},
  settings: object = {},
  conduct: Conduct = properly,
): Promise<UnderTest> {
  const upstream = await PlainServer.start(options, conduct)
  const gateway = await startGateway({
    upstreams: { theirs: { url: upstream.url, timeout: '5s', ...settings } },
    tiers: { all: { upstream: 'theirs' } },
  })
  return { gateway, upstream }
}

function methodsAsked({ requests }: PlainServer): readonly string[] {
  return requests
    .filter(({ method }) => method === 'POST')
    .map(({ body }) => JSON.parse(body).method)
}

test(`an upstream is asked what it is before it is asked anything ${meets('2/describe-first', '4.1/called-first')}`, async () => {
  let describe = () => {}
  const described = new Promise<void>((resolve) => {
    describe = resolve
  })
  const slowly = onMethod('memory/describe', async ({ send, answer }) => {
    await described
    send(await answer())
  })
  const { gateway, upstream } = await over({}, {}, slowly)
  const early = gateway.call('memory/recall', { query: 'x' })
  await upstream.received('memory/describe')
  expect(new Set(methodsAsked(upstream))).toEqual(new Set(['memory/describe']))
  describe()
  await early
  await gateway.remember({ content: 'x' })
  expect(methodsAsked(upstream)[0]).toBe('memory/describe')
  expect(methodsAsked(upstream)).toContain('memory/remember')
})

test(`of core alone nothing but core is asked, whatever is asked of the gateway ${meets('2/declared-only')}`, async () => {
  const { gateway, upstream } = await over()
  await gateway.up('theirs')
  const id = await gateway.remember({ content: 'x', group: 'g', key: 'k', session: 's' })
  const any = { ids: [id], tier: 'all', key: 'k', session: 's', query: 'x', key_prefix: 'k' }
  for (const method of METHOD_NAMES.filter((name) => name !== 'memory/forget')) {
    const params = method === 'memory/remember' ? { records: [{ content: 'y', tier: 'all' }] } : any
    await gateway.call(method, params).catch(() => undefined)
  }
  await gateway.call('memory/timeline', { tier: 'all' })
  await gateway.call('memory/forget', { ids: [id], tier: 'all' })
  const asked = methodsAsked(upstream)
  expect(asked.filter((method) => !CORE.includes(method))).toEqual([])
  expect(new Set(asked)).toEqual(new Set(CORE))
  const bodies = upstream.requests.map(({ body }) => body).join('\n')
  expect(bodies).not.toMatch(/"(tier|owner|key|key_prefix|session|embeddings?)":/)
})

test(`what it says beyond the specification does no harm ${meets('2/unknown-fields')}`, async () => {
  const odd = { colour: 'red', valid: { from: 5 }, tags: [null], likeness: 'x' }
  const record = { id: '1', content: 'harbour', created_at, ...odd }
  const conduct: Conduct = ({ method, sendResult }) =>
    sendResult(
      method === 'memory/describe'
        ? {
            ...{ protocol: 'a2m/0.1', name: 'odd', capabilities: ['core', 'telepathy'] },
            ...{ methods: [...CORE, 'memory/guess'], mood: 'fine' },
          }
        : { records: [record], colour: 'blue' },
    )
  const { gateway } = await over({}, { access: 'read-only', ids: 'own' }, conduct)
  await gateway.up('theirs')
  for (const method of ['memory/recall', 'memory/timeline'] as const) {
    const { records, federation } = await gateway.call(method, { query: 'harbour' })
    expect(records).toMatchObject([{ id: '1', content: 'harbour', created_at }])
    expect(federation?.partial).toBe(false)
  }
})

test(`that it takes no writes is an answer: no outage, and not asked twice ${meets('2.1/tolerated')}`, async () => {
  const options = { readOnly: true }
  const { gateway, upstream } = await over(options, {
    access: 'read-write',
    breaker: { failures: 1 },
  })
  await gateway.up('theirs')
  upstream.memory.records.push({ id: 'there', content: 'harbour', created_at })
  for (let turn = 1; turn <= 3; turn++) {
    await expect(gateway.remember({ content: 'x' })).rejects.toMatchObject({
      data: { outcome: 'refused' },
    })
    expect(upstream.callsOf('memory/remember')).toBe(turn)
    const forgetting = gateway.call('memory/forget', { ids: ['there'] })
    await expect(forgetting).rejects.toThrow('theirs')
    expect(upstream.callsOf('memory/forget')).toBe(turn)
  }
  expect(await gateway.upstream('theirs')).toMatchObject({ state: 'up', breaker: 'closed' })
  const recalled = await gateway.call('memory/recall', { query: 'harbour' })
  expect(recalled.records).toHaveLength(1)
  expect(recalled.federation?.partial).toBe(false)
})

const STRANGE_IDS = [
  '0',
  ' ',
  'theirs',
  'theirs:1',
  'a:b:c',
  '../x?y=z#w',
  '{"id":1}',
  '日本',
  'x'.repeat(2000),
]

test.each(['own', 'foreign'])(
  `%s ids of any form are shown and taken back, and nothing is read from them ${meets('3.2/opaque')}`,
  async (ids) => {
    const { gateway, upstream } = await over({}, { ids })
    await gateway.up('theirs')
    const records = STRANGE_IDS.map((id, n) => ({ id, content: `harbour ${n}`, created_at }))
    upstream.memory.records.push(...records)
    const { records: shown } = await gateway.call('memory/timeline', { limit: 0 })
    expect(shown.map(({ content }) => content)).toEqual(records.map(({ content }) => content))
    expect(new Set(shown.map(({ id }) => id)).size).toBe(STRANGE_IDS.length)
    for (const { id, content } of shown) {
      const found = await gateway.call('memory/recall', { where: { id }, query: 'harbour' })
      expect(found.records.map((record) => record.content)).toEqual([content])
      if (ids === 'foreign') continue
      expect(await gateway.call('memory/forget', { ids: [id] })).toEqual({ forgotten: 1 })
      expect(upstream.contents).not.toContain(content)
    }
  },
)

test(`what was written may be gone the next time ${meets('4.7/not-assumed')}`, async () => {
  const { gateway, upstream } = await over({ capabilities: ['core', 'keys'] })
  await gateway.up('theirs')
  const entries = [
    { id: 'mine', content: 'one' },
    { key: 'k', content: 'two' },
  ]
  for (const entry of entries) await gateway.remember(entry)
  upstream.memory.records.length = 0
  expect(await gateway.call('memory/promote', { ids: ['mine'], tier: 'all' })).toEqual({
    promoted: 0,
  })
  expect(await gateway.call('memory/forget', { ids: ['mine'] })).toEqual({ forgotten: 0 })
  expect((await gateway.call('memory/recall', { query: 'one' })).records).toEqual([])
  for (const entry of entries) await gateway.remember(entry)
  expect(await gateway.contentsOf()).toEqual(['one', 'two'])
})

const recalling =
  (ids: readonly string[], scores: readonly number[]): Conduct =>
  ({ sendResult }) =>
    sendResult({
      records: ids.map((id, n) => ({ id, content: `harbour ${id}`, created_at, score: scores[n] })),
    })

test(`whatever scale one of them scores on, the order is the same ${meets('5.3/no-comparison')}`, async () => {
  const [left, right] = [await PlainServer.start(), await PlainServer.start()]
  const gateway = await startGateway({
    upstreams: { left: { url: left.url }, right: { url: right.url } },
    tiers: { one: { upstream: 'left' }, two: { upstream: 'right' } },
  })
  await gateway.up('left', 'right')
  const recall = async () =>
    (await gateway.call('memory/recall', { query: 'harbour' })).records.map((record) => [
      record.id,
      record.score,
    ])
  right.conduct = onMethod('memory/recall', recalling(['r1', 'r2'], [0.5, 0.4]))
  const answers: unknown[] = []
  for (const scores of [
    [0.9, 0.8, 0.7],
    [1e6, 5, 0],
    [-1, -2, -3],
    [1e-9, 1e-10, 0],
  ]) {
    left.conduct = onMethod('memory/recall', recalling(['l1', 'l2', 'l3'], scores))
    answers.push(await recall())
  }
  expect(answers[0]).toHaveLength(5)
  expect(answers).toEqual(answers.map(() => answers[0]))
})

test(`errors are told apart by code, whatever their message says ${meets('7/message')}`, async () => {
  const misleading =
    (code: number, message: string): Conduct =>
    ({ send, request }) =>
      send(JSON.stringify({ jsonrpc: '2.0', id: request.id, error: { code, message } }))
  const probed = async (code: number, message: string) => {
    const probe = misleading(code, message)
    const { gateway } = await over({}, {}, onMethod('memory/remember', probe))
    await gateway.up('theirs')
    return gateway.remember({ content: 'x' }).catch(({ code }) => code)
  }
  expect(await probed(-32004, 'Invalid params (-32602): records')).toBe(-32004)
  expect(await probed(-32602, 'READ_ONLY (-32004): this store takes no writes')).toBe(-32602)
  const version = misleading(-32603, 'PROTOCOL_NOT_SUPPORTED a2m/0.1 (-32007)')
  const { gateway } = await over({}, {}, onMethod('memory/describe', version))
  await until(async () => (await gateway.upstream('theirs')).reason !== undefined)
  expect((await gateway.upstream('theirs')).state).not.toBe('incompatible')
})
