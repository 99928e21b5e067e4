import { expect, test } from 'vitest'
import type { CallReport } from '../../../src/protocol/call-report.js'
import { A2mError, Fault } from '../../../src/protocol/errors.js'
import type { Ask } from '../../../src/protocol/memory.js'
import { createCallLog, createFailureLog } from '../../../src/telemetry/call-log.js'
import { createLog, createScrub, type LogLevel } from '../../../src/telemetry/logs.js'
import { observeAll } from '../../../src/telemetry/report.js'
import { withCrashLog } from '../../../src/telemetry/with-crash-log.js'
import { type Reached, servedBy } from '../../e2e/edge-fixture.js'
import { contextWithin } from '../../support/contexts.js'

function setUp({ level = 'info', secrets = [] }: { level?: LogLevel; secrets?: string[] } = {}) {
  const written: string[] = []
  const log = createLog({ level, secrets, stream: { write: (line) => written.push(line) } })
  return { log, written, lines: () => written.map((line) => JSON.parse(line)) }
}

const ASK: Ask = {
  upstream: 'facts',
  method: 'memory/recall',
  attempts: 2,
  state: 'failed',
  ms: 40.4,
  count: 0,
  reason: 'unreachable',
}
const REPORT: CallReport = {
  method: 'memory/recall',
  version: 'a2m/0.1',
  error: undefined,
  ms: 7.25432,
  bytesIn: 100,
  at: 0,
  usage: undefined,
  bytesOut: 250,
  asks: [],
  caller: { name: 'agent-a', roles: [], scope: { kind: 'all' } },
  trace: 'f'.repeat(32),
  ending: 'answered',
}

test('a line is one JSON object with time, level and message', () => {
  const { log, written, lines } = setUp()
  log.warn({ upstream: 'facts' }, 'slow\nhere')
  expect(written[0]).toMatch(/^[^\n]*\n$/)
  expect(lines()).toEqual([
    {
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      upstream: 'facts',
      msg: 'slow\nhere',
    },
  ])
})

test('what is below the level is not written', () => {
  const { log, written } = setUp({ level: 'warn' })
  log.debug({}, 'd')
  log.info({}, 'i')
  log.warn({}, 'w')
  log.error({}, 'e')
  expect(written).toHaveLength(2)
  const silent = setUp({ level: 'silent' })
  silent.log.error({}, 'e')
  expect(silent.written).toEqual([])
})

test('fields that hold secrets are blanked, wherever they are', () => {
  const { log, written } = setUp()
  log.info({ token: 'hush', auth: { bearer: 'hush' }, a: { b: { authorization: 'hush' } } }, 'x')
  expect(written.join()).not.toContain('hush')
})

test.each(['canary-123', 'ca"na\\ry', 'can/ary&1 2', 'ключ'])(
  'the secret %s gets into no line, by whatever way',
  (secret) => {
    const { log, written } = setUp({ secrets: [secret, ''] })
    const url = `http://u:${encodeURIComponent(secret)}@127.0.0.1/`
    log.info({ url, nested: [{ text: `a ${secret} b` }] }, `message ${secret}`)
    log.error({ err: new Error(`cannot reach ${url} with ${secret}`) }, 'failed')
    const text = written.join()
    for (const form of [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]) {
      expect(text).not.toContain(form)
    }
    expect(text).toContain('[redacted]')
    expect(() => written.map((line) => JSON.parse(line))).not.toThrow()
  },
)

test('of two secrets that overlap the longer goes as a whole', () => {
  expect(createScrub(['abc', 'abcdef'])('x abcdef abc y')).toBe('x [redacted] [redacted] y')
  expect(createScrub([])('as it was')).toBe('as it was')
})

test('a call is one line, with how its upstreams did', () => {
  const { log, lines } = setUp()
  const calls = createCallLog(log)
  calls.started()
  calls.finished({ ...REPORT, asks: [ASK], error: new A2mError('READ_ONLY', 'no') })
  expect(lines()).toMatchObject([
    {
      method: 'memory/recall',
      code: -32004,
      ms: 7.254,
      caller: 'agent-a',
      trace: REPORT.trace,
      asks: [{ upstream: 'facts', state: 'failed', ms: 40, attempts: 2, count: 0 }],
    },
  ])
})

test('a failing upstream is told of at once, and then now and then with a count', () => {
  const { log, lines } = setUp()
  let now = 0
  const failures = createFailureLog({
    log,
    clock: { now: () => 0, monotonic: () => now },
    everyMs: 1000,
  })
  const fail = (ask: Partial<Ask> = {}) =>
    failures.finished({
      ...REPORT,
      asks: [
        { ...ASK, ...ask },
        { ...ASK, state: 'ok' },
      ],
    })
  for (; now < 1000; now += 10) fail()
  expect(lines()).toHaveLength(1)
  fail()
  expect(lines()).toMatchObject([{ left_out: 0 }, { left_out: 99 }])
  fail({ state: 'timeout' })
  fail({ upstream: 'vectors' })
  fail({ state: 'refused' })
  fail({ state: 'skipped' })
  expect(lines().slice(2)).toMatchObject([
    { upstream: 'facts', state: 'timeout', left_out: 0 },
    { upstream: 'vectors', state: 'failed', left_out: 0 },
  ])
})

test('several observers are all told', () => {
  const told: string[] = []
  const observer = (name: string) => ({
    started: () => told.push(`${name} started`),
    finished: () => told.push(`${name} finished`),
    refused: (status: number) => told.push(`${name} ${status}`),
  })
  const all = observeAll([observer('a'), observer('b')])
  all.started()
  all.finished(REPORT)
  all.refused(403)
  expect(told).toEqual(['a started', 'b started', 'a finished', 'b finished', 'a 403', 'b 403'])
})

test.each([
  ['a bug', () => new TypeError('x is undefined'), 1],
  ['an error of the protocol', () => new A2mError('READ_ONLY', 'no'), 0],
  ['a fault of an upstream', () => new Fault('timeout', 'late'), 0],
])('%s goes through, and is logged %s times', async (_, make, count) => {
  const { log, lines } = setUp()
  const thrown = make()
  const inner = servedBy((_: Reached) => Promise.reject(thrown))
  const call = withCrashLog(inner, log).call('memory/recall', {}, contextWithin(1000))
  await expect(call).rejects.toBe(thrown)
  expect(lines()).toHaveLength(count)
  if (count > 0) expect(lines()).toMatchObject([{ err: { message: 'x is undefined' } }])
})
