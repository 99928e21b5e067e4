import { readdirSync, readFileSync } from 'node:fs'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createMetrics } from '../../src/telemetry/metrics.js'
import { everyMetric, metricsIn, ownMetrics } from '../support/metric-names.js'

const FOLDER = new URL('../../dashboards/', import.meta.url)
const FILES = readdirSync(FOLDER).filter((name) => name.endsWith('.json'))

function read(file: string): string {
  return readFileSync(new URL(file, FOLDER), 'utf8')
}

test('the catalogue is read as the gateway makes it', async () => {
  const registry = new Registry()
  createMetrics({ registry, upstreams: () => [] })
  const made = (await registry.getMetricsAsJSON()).map(({ name }) => name)
  registry.clear()
  const known = await everyMetric()
  expect(made.filter((name) => !known.has(name))).toEqual([])
})

test.each(FILES)('%s shows metrics that exist', async (file) => {
  const known = await everyMetric()
  const names = metricsIn(read(file))
  expect(names.length).toBeGreaterThan(5)
  expect(names.filter((name) => !known.has(name))).toEqual([])
})

test('every metric of the gateway itself is shown somewhere', () => {
  const shown = new Set(FILES.flatMap((file) => metricsIn(read(file))))
  expect([...ownMetrics()].filter((name) => !shown.has(name))).toEqual([])
})
