import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import type { CallReport } from '../../../src/protocol/call-report.js'
import { createSunsetLog } from '../../../src/telemetry/sunset-log.js'
import { createVersionMetrics } from '../../../src/telemetry/version-metrics.js'

const REPORT: CallReport = {
  method: 'memory/recall',
  version: 'a2m/0.1',
  error: undefined,
  ms: 1,
  bytesIn: 1,
  bytesOut: 1,
  asks: [],
  caller: { name: 'agent-a', roles: [], scope: { kind: 'all' } },
  trace: '',
  at: 0,
  usage: undefined,
  ending: 'answered',
}
const SUNSET = Date.UTC(2027, 0, 31)

test('requests are counted by the versions of the configuration, and by nothing else', async () => {
  const registry = new Registry()
  const versions = [
    { name: 'a2m/0.1', sunset: SUNSET },
    { name: 'next', sunset: undefined },
  ]
  const metrics = createVersionMetrics({ registry, versions })
  metrics.finished(REPORT)
  metrics.finished({ ...REPORT, version: 'next' })
  metrics.finished({ ...REPORT, version: 'canary' })
  metrics.refused(413, 'next')
  metrics.refused(400, 'other')
  metrics.refused(401)
  const text = await registry.metrics()
  const series = text.split('\n').filter((line) => line.startsWith('a2m_version_'))
  expect(series).toEqual([
    'a2m_version_sunset_timestamp_seconds{version="a2m/0.1"} 1801353600',
    'a2m_version_requests_total{version="a2m/0.1"} 1',
    'a2m_version_requests_total{version="next"} 2',
    'a2m_version_requests_total{version="other"} 1',
  ])
})

test('who calls after the sunset is told of, at once and then now and then', () => {
  let now = SUNSET - 1
  const lines: unknown[] = []
  const silent = { error() {}, info() {}, debug() {} }
  const log = createSunsetLog({
    log: { ...silent, warn: (fields) => lines.push(fields) },
    clock: { now: () => now, monotonic: () => now },
    sunsets: new Map([['a2m/0.1', SUNSET]]),
    everyMs: 1000,
  })
  log.finished(REPORT)
  expect(lines).toEqual([])
  now = SUNSET
  log.finished(REPORT)
  log.finished({ ...REPORT, version: 'a2m/0.2' })
  log.refused(413, 'a2m/0.1')
  log.finished(REPORT)
  log.refused(401)
  now += 1000
  log.refused(413, 'a2m/0.1')
  const told = { version: 'a2m/0.1', sunset: '2027-01-31T00:00:00.000Z' }
  expect(lines).toEqual([
    { ...told, caller: 'agent-a', left_out: 0 },
    { ...told, caller: undefined, left_out: 2 },
  ])
})
