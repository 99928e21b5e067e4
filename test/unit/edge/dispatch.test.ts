import { expect, test } from 'vitest'
import { createDispatch } from '../../../src/edge/dispatch.js'
import { createTraces, traceOf } from '../../../src/edge/trace.js'
import type { CallReport } from '../../../src/protocol/call-report.js'
import { Cancellation } from '../../../src/protocol/cancellation.js'
import { A2mError } from '../../../src/protocol/errors.js'
import type { Ask, Caller, Context } from '../../../src/protocol/memory.js'
import { message, NOTHING, type Reached, servedBy } from '../../e2e/edge-fixture.js'

const caller: Caller = { name: 'a', roles: [], scope: { kind: 'owners', owners: ['alice'] } }
const ASK: Ask = {
  upstream: 'u',
  method: 'memory/recall',
  attempts: 1,
  state: 'ok',
  ms: 1,
  count: 0,
}

function setUp(handler: (reached: Reached) => unknown) {
  const reports: CallReport[] = []
  let now = 1000
  const log: string[] = []
  const dispatch = createDispatch({
    clock: { now: () => 0, monotonic: () => (now += 5) },
    requestMs: 2000,
    observer: {
      started: () => log.push('started'),
      finished: (report) => {
        log.push('finished')
        reports.push(report)
      },
      refused: () => log.push('refused'),
    },
    newTrace: () => 'f'.repeat(32),
  })
  const closed = new Cancellation()
  return {
    reports,
    log,
    closed,
    send: (text: string | Buffer, traceparent?: string) =>
      dispatch({
        bytes: Buffer.from(text),
        served: servedBy(handler),
        version: 'a2m/0.1',
        caller,
        connection: { closed },
        traceparent,
      }),
  }
}

test('a call gets its context and makes one report', async () => {
  const contexts: Context[] = []
  const { send, reports, log, closed } = setUp(({ context }) => {
    contexts.push(context)
    context.observe(ASK)
    context.observe({ ...ASK, upstream: 'v', state: 'timeout' })
    return { records: [], prompt: 'ä' }
  })
  const reply = await send(message())
  expect(contexts).toMatchObject([{ caller, deadline: 3005, trace: 'f'.repeat(32) }])
  expect(contexts[0]?.cancellation).toBe(closed)
  expect(log).toEqual(['started', 'finished'])
  expect(reply?.bytes).toBe(Buffer.byteLength(reply?.text ?? ''))
  expect(reports).toEqual([
    {
      method: 'memory/recall',
      version: 'a2m/0.1',
      error: undefined,
      ms: 5,
      bytesIn: message().length,
      bytesOut: reply?.bytes,
      asks: [ASK, { ...ASK, upstream: 'v', state: 'timeout' }],
      caller,
      trace: 'f'.repeat(32),
      at: 0,
      usage: undefined,
      ending: 'answered',
    },
  ])
})

test('asks of one call are not those of another', async () => {
  const { send, reports } = setUp(({ context }) => {
    context.observe(ASK)
    return NOTHING
  })
  await Promise.all([send(message()), send(message())])
  expect(reports.map(({ asks }) => asks.length)).toEqual([1, 1])
})

test('an observer that breaks does not break the call', async () => {
  const dispatch = createDispatch({
    clock: { now: () => 0, monotonic: () => 0 },
    requestMs: 1,
    observer: {
      started() {},
      finished() {
        throw new Error('no such label')
      },
      refused() {},
    },
    newTrace: () => '',
  })
  const connection = { closed: new Cancellation() }
  const served = servedBy(() => NOTHING)
  const bytes = Buffer.from(message())
  expect(await dispatch({ bytes, served, version: 'a2m/0.1', caller, connection })).toHaveProperty(
    'text',
  )
})

test.each([
  ['what is no text', Buffer.from([0xff]), -32700, undefined],
  ['what is no JSON', '{', -32700, undefined],
  ['an unknown method', message({ method: 'memory/no' }), -32601, undefined],
  ['bad params', message({ params: { limit: 'x' } }), -32602, 'memory/recall'],
  ['a refusal', message(), -32004, 'memory/recall'],
])('%s is reported with its code', async (_, text, code, method) => {
  const { send, reports } = setUp(() => Promise.reject(new A2mError('READ_ONLY', 'no')))
  expect(JSON.parse((await send(text))?.text ?? '')).toMatchObject({ error: { code } })
  expect(reports).toMatchObject([{ method, error: { code }, ending: 'answered' }])
})

test('a notification is reported and answered by nothing', async () => {
  const { send, reports } = setUp(() => Promise.reject(new A2mError('READ_ONLY', 'no')))
  expect(await send(message({ id: undefined }))).toBeUndefined()
  expect(reports).toMatchObject([{ error: { code: -32004 }, bytesOut: 0, ending: 'silent' }])
})

test('a caller that left is reported so', async () => {
  const { send, reports, closed } = setUp(() => {
    closed.cancel()
    return NOTHING
  })
  await send(message())
  expect(reports).toMatchObject([{ ending: 'hung_up' }])
})

const TRACE = '0af7651916cd43dd8448eb211c80319c'

test.each([
  [`00-${TRACE}-b7ad6b7169203331-01`, TRACE],
  [`01-${TRACE}-b7ad6b7169203331-01-more`, TRACE],
  [`ff-${TRACE}-b7ad6b7169203331-01`, undefined],
  [`00-${'0'.repeat(32)}-b7ad6b7169203331-01`, undefined],
  [`00-${TRACE}-${'0'.repeat(16)}-01`, undefined],
  [`00-${TRACE.toUpperCase()}-b7ad6b7169203331-01`, undefined],
  [`00-${TRACE}-b7ad6b7169203331-01x`, undefined],
  [`00-${TRACE}`, undefined],
  ['', undefined],
  [undefined, undefined],
])('the trace in %j is %j', async (header, expected) => {
  expect(traceOf(header)).toBe(expected)
  const { send, reports } = setUp(() => NOTHING)
  await send(message(), header)
  expect(reports[0]?.trace).toBe(expected ?? 'f'.repeat(32))
})

test('traces that are made differ and are 32 digits', () => {
  const next = createTraces(() => new Uint8Array(8).fill(0xab))
  expect(next()).toBe(`${'ab'.repeat(8)}0000000000000001`)
  expect(next()).toBe(`${'ab'.repeat(8)}0000000000000002`)
})
