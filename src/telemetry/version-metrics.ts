import { Counter, Gauge, type Registry } from 'prom-client'
import type { Observer } from './report.js'

export interface VersionMetricsOptions {
  readonly registry: Registry
  /** Those of the configuration; with `sunset` in ms since 1970 where they have one. */
  readonly versions: readonly { readonly name: string; readonly sunset: number | undefined }[]
}

/** Counts requests by the version that they are for. Labels are those of the configuration, and `other` for the rest. */
export function createVersionMetrics({ registry, versions }: VersionMetricsOptions): Observer {
  addSunsets(registry, versions)
  const requests = new Counter({
    name: 'a2m_version_requests_total',
    help: 'Requests of callers that are known, by the protocol version that they are for; other is one that is not spoken.',
    labelNames: ['version'],
    registers: [registry],
  })
  const names = [...versions.map(({ name }) => name), 'other']
  const counters = new Map(names.map((version) => [version, requests.labels({ version })]))
  return {
    started() {},
    finished: ({ version }) => counters.get(version)?.inc(),
    refused(_, version) {
      if (version !== undefined) counters.get(version)?.inc()
    },
  }
}

function addSunsets(registry: Registry, versions: VersionMetricsOptions['versions']): void {
  const sunsets = new Gauge({
    name: 'a2m_version_sunset_timestamp_seconds',
    help: 'When a protocol version may be gone, in seconds since 1970; of those that have a sunset.',
    labelNames: ['version'],
    registers: [registry],
  })
  for (const { name: version, sunset } of versions) {
    if (sunset !== undefined) sunsets.set({ version }, sunset / 1000)
  }
}
