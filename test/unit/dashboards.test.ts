import { readdirSync, readFileSync } from 'node:fs'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createMetrics } from '../../src/telemetry/metrics.js'

const FOLDER = new URL('../../dashboards/', import.meta.url)
const SUFFIX = /_(bucket|sum|count)$/

async function known(): Promise<ReadonlySet<string>> {
  const registry = new Registry()
  createMetrics({ registry, upstreams: () => [] })
  const metrics = await registry.getMetricsAsJSON()
  registry.clear()
  return new Set(metrics.map(({ name }) => name))
}

function named(file: string): readonly string[] {
  const text = readFileSync(new URL(file, FOLDER), 'utf8')
  JSON.parse(text)
  return [...new Set(text.match(/\ba2m_[a-z0-9_]+/g))]
}

test.each(readdirSync(FOLDER))('%s shows metrics that exist', async (file) => {
  const metrics = await known()
  const names = named(file)
  expect(names.length).toBeGreaterThan(10)
  expect(
    names.filter((name) => !(metrics.has(name) || metrics.has(name.replace(SUFFIX, '')))),
  ).toEqual([])
})

test('the overview shows every metric of the gateway itself', async () => {
  const shown = new Set(named('overview.json').map((name) => name.replace(SUFFIX, '')))
  const own = [...(await known())].filter((name) => !/^a2m_(process|nodejs)_/.test(name))
  expect(own.filter((name) => !shown.has(name))).toEqual([])
})
