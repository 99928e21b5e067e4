import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import type { CallReport } from '../../../src/protocol/call-report.js'
import { A2mError } from '../../../src/protocol/errors.js'
import type { Ask } from '../../../src/protocol/memory.js'
import { createMetrics, type UpstreamStatus } from '../../../src/telemetry/metrics.js'

const REPORT: CallReport = {
  method: 'memory/recall',
  version: 'a2m/0.1',
  error: undefined,
  ms: 3,
  bytesIn: 100,
  at: 0,
  usage: undefined,
  bytesOut: 250,
  asks: [],
  caller: { name: 'agent-canary', roles: [], scope: { kind: 'owners', owners: ['owner-canary'] } },
  trace: 'trace-canary',
  ending: 'answered',
}
const ASK: Ask = {
  upstream: 'facts',
  method: 'memory/recall',
  attempts: 2,
  state: 'ok',
  ms: 40,
  count: 8,
}

function setUp(upstreams: () => readonly UpstreamStatus[] = () => []) {
  const registry = new Registry()
  return { metrics: createMetrics({ registry, upstreams }), text: () => registry.metrics() }
}

test('each message is counted once, by method and outcome', async () => {
  const { metrics, text } = setUp()
  metrics.finished(REPORT)
  metrics.finished(REPORT)
  metrics.finished({ ...REPORT, error: new A2mError('SCOPE_DENIED', 'no') })
  metrics.finished({ ...REPORT, method: undefined, error: new A2mError('PARSE_ERROR', 'no') })
  metrics.finished({ ...REPORT, error: new A2mError(-31999, 'odd'), ending: 'hung_up' })
  const all = await text()
  expect(all).toContain('a2m_requests_total{method="memory/recall",outcome="ok"} 2')
  expect(all).toContain('a2m_requests_total{method="memory/recall",outcome="SCOPE_DENIED"} 1')
  expect(all).toContain('a2m_requests_total{method="none",outcome="PARSE_ERROR"} 1')
  expect(all).toContain('a2m_requests_total{method="memory/recall",outcome="OTHER"} 1')
  expect(all).toContain('a2m_hangups_total{method="memory/recall"} 1')
  expect(all).toContain('a2m_request_duration_seconds_bucket{le="0.0025",method="memory/recall"} 0')
  expect(all).toContain('a2m_request_duration_seconds_bucket{le="0.005",method="memory/recall"} 4')
  expect(all).toContain('a2m_received_bytes_total 500')
  expect(all).toContain('a2m_sent_bytes_total 1250')
})

test('asks, attempts and their time are the upstream’s; one that was skipped took none', async () => {
  const { metrics, text } = setUp()
  metrics.finished({ ...REPORT, asks: [ASK, { ...ASK, state: 'timeout' }] })
  metrics.asked({ ...ASK, state: 'skipped', attempts: 0 })
  const all = await text()
  const labels = (state: string) => `{upstream="facts",method="memory/recall",state="${state}"}`
  for (const state of ['ok', 'timeout', 'skipped']) {
    expect(all).toContain(`a2m_asks_total${labels(state)} 1`)
  }
  expect(all).toContain('a2m_attempts_total{upstream="facts"} 4')
  expect(all).toContain('a2m_ask_duration_seconds_count{upstream="facts"} 2')
})

test('what is in flight goes up and down', async () => {
  const { metrics, text } = setUp()
  metrics.started()
  metrics.started()
  expect(await text()).toContain('a2m_requests_in_flight 2')
  metrics.finished(REPORT)
  expect(await text()).toContain('a2m_requests_in_flight 1')
})

test('refusals, fusion and what happens at upstreams', async () => {
  const { metrics, text } = setUp()
  metrics.refused(401)
  metrics.fused({ lists: 4, candidates: 37 })
  metrics.happened('foreign_record', 'facts', 3)
  metrics.happened('profile_mismatch', 'facts')
  metrics.happened('bad_reply', 'facts')
  metrics.happened('child_restart', 'facts')
  metrics.happened('stdout_noise', 'facts')
  const all = await text()
  expect(all).toContain('a2m_refusals_total{status="401"} 1')
  expect(all).toContain('a2m_fusion_lists_bucket{le="4"} 1')
  expect(all).toContain('a2m_fusion_candidates_sum 37')
  expect(all).toContain('a2m_foreign_records_total{upstream="facts"} 3')
  for (const name of ['profile_mismatches', 'bad_replies', 'child_restarts', 'stdout_noise']) {
    expect(all).toContain(`a2m_${name}_total{upstream="facts"} 1`)
  }
})

test('an upstream is in one state at a time, and gone when it is no more', async () => {
  let statuses: UpstreamStatus[] = [{ upstream: 'facts', state: 'up', breaker: 'closed' }]
  const { text } = setUp(() => statuses)
  expect(await text()).toContain('a2m_upstream_state{upstream="facts",state="up"} 1')
  statuses = [{ upstream: 'facts', state: 'down', breaker: 'open' }]
  const after = await text()
  expect(after).toContain('a2m_upstream_state{upstream="facts",state="down"} 1')
  expect(after).toContain('a2m_breaker_state{upstream="facts",state="open"} 1')
  expect(after).not.toContain('state="up"')
  statuses = []
  expect(await text()).not.toContain('_state{upstream="facts"')
})

test('what may happen at an upstream is told as 0 until it happens', async () => {
  const { metrics, text } = setUp(() => [{ upstream: 'facts', state: 'up', breaker: 'closed' }])
  metrics.happened('foreign_record', 'facts', 2)
  const told = await text()
  expect(told).toContain('a2m_foreign_records_total{upstream="facts"} 2')
  expect(told).toContain('a2m_child_restarts_total{upstream="facts"} 0')
  expect(told).toContain('a2m_partial_answers_total{method="memory/recall"} 0')
})

test('every name has the prefix, and no caller, owner or trace is in any label', async () => {
  const { metrics, text } = setUp()
  metrics.finished({ ...REPORT, asks: [ASK] })
  const all = await text()
  const samples = all.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  expect(samples.length).toBeGreaterThan(50)
  expect(samples.filter((line) => !line.startsWith('a2m_'))).toEqual([])
  expect(all).not.toContain('canary')
})

test('two registries do not know of each other', async () => {
  const one = setUp()
  const other = setUp()
  one.metrics.refused(403)
  expect(await other.text()).not.toContain('status="403"')
})
