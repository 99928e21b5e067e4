import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { layoutOf, readBoard } from '../../scripts/dashboards/board.js'
import { format } from '../../scripts/dashboards/units.js'
import { createMetrics } from '../../src/telemetry/metrics.js'
import { everyMetric, metricsIn, ownMetrics } from '../support/metric-names.js'

const FOLDER = new URL('../../dashboards/', import.meta.url)
const FILES = readdirSync(FOLDER).filter((name) => name.endsWith('.json'))

function read(file: string): string {
  return readFileSync(new URL(file, FOLDER), 'utf8')
}

const panelSchema = z.object({
  id: z.int(),
  type: z.string(),
  title: z.string().min(3),
  description: z.string().min(3).regex(/\.$/),
  datasource: z.object({ uid: z.string().regex(/^\$\{datasource\}$/) }),
  gridPos: z.object({ x: z.int(), y: z.int(), w: z.int(), h: z.int() }),
  targets: z.array(z.object({ expr: z.string(), legendFormat: z.string() })).min(1),
})
const boardSchema = z.object({
  uid: z.string().regex(/^a2m-gateway-/),
  schemaVersion: z.literal(41),
  templating: z.object({ list: z.array(z.object({ name: z.string() })) }),
  panels: z.array(panelSchema),
})

type Panel = z.output<typeof panelSchema>

function overlaps({ gridPos: a }: Panel, { gridPos: b }: Panel): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h
}

test.each(FILES)('%s is as Grafana takes it, and nothing lies on anything', (file) => {
  const { templating, panels } = boardSchema.parse(JSON.parse(read(file)))
  expect(templating.list.map(({ name }) => name)).toEqual(['datasource', 'instance'])
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length)
  for (const [index, panel] of panels.entries()) {
    const { x, w } = panel.gridPos
    expect(x + w).toBeLessThanOrEqual(24)
    expect(panels.slice(0, index).filter((other) => overlaps(other, panel))).toEqual([])
    for (const { expr } of panel.targets) {
      expect(metricsIn(expr).length, `${panel.title}: ${expr}`).toBeGreaterThan(0)
      expect(expr, panel.title).toContain('instance=~"$instance"')
    }
  }
})

test.each(FILES)('%s can be drawn: units, columns and colours are known', (file) => {
  for (const panel of readBoard(fileURLToPath(new URL(file, FOLDER))).panels) {
    expect(format(1, panel.fieldConfig.defaults.unit)).toMatch(/1/)
    if (panel.type === 'table') expect(layoutOf(panel).columns.length).toBeGreaterThan(1)
  }
})

test('numbers are written as people read them', () => {
  const written = [
    ...[
      format(0, 's'),
      format(0.00042, 's'),
      format(0.0123, 's'),
      format(7.5, 's'),
      format(600, 's'),
    ],
    ...[
      format(12_345, 'short'),
      format(0.5, 'short'),
      format(3, 'short', 0),
      format(46.62, 'reqps', 1),
    ],
    ...[format(0.0191, 'percentunit', 2), format(123_456_789, 'bytes'), format(12_300, 'Bps')],
    ...[format(43.6, 'd', 0), format(Number.NaN, 'short')],
  ]
  expect(written).toEqual([
    ...['0 s', '420 µs', '12.3 ms', '7.5 s', '10 min'],
    ...['12.3k', '0.5', '3', '46.6 req/s', '1.91 %', '118 MiB', '12.3 kB/s', '44 days', '–'],
  ])
})

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
