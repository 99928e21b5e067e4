import { readdirSync, readFileSync } from 'node:fs'
import { collectDefaultMetrics, Registry } from 'prom-client'

const TELEMETRY = new URL('../../src/telemetry/', import.meta.url)
const SUFFIX = /_(bucket|sum|count)$/

/** Names of the metrics that the gateway makes itself, whatever is configured: as the files of the catalogue spell them. */
export function ownMetrics(): ReadonlySet<string> {
  const files = readdirSync(TELEMETRY).filter((name) => name.endsWith('metrics.ts'))
  const texts = files.map((name) => readFileSync(new URL(name, TELEMETRY), 'utf8'))
  return new Set(texts.flatMap((text) => [...text.matchAll(/'(a2m_[a-z0-9_]+)'/g)].map(second)))
}

/** Those and the metrics of the process. */
export async function everyMetric(): Promise<ReadonlySet<string>> {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'a2m_' })
  const metrics = await registry.getMetricsAsJSON()
  registry.clear()
  return new Set([...ownMetrics(), ...metrics.map(({ name }) => name)])
}

/** The metrics that a text names, each once; a part of a histogram stands for the whole. */
export function metricsIn(text: string): readonly string[] {
  const names = [...text.matchAll(/\b(a2m_[a-z0-9_]+)/g)].map(second)
  return [...new Set(names.map((name) => name.replace(SUFFIX, '')))]
}

function second(match: RegExpMatchArray): string {
  return match[1] ?? ''
}
