import { Registry as MetricRegistry } from 'prom-client'
import type { Config } from '../config/config.js'
import type { Federation } from '../federation/federation.js'
import type { Limiter } from '../metering/limiter.js'
import { createMetrics, type Metrics, type UpstreamStatus } from '../telemetry/metrics.js'
import type { Observer } from '../telemetry/report.js'
import { createVersionMetrics } from '../telemetry/version-metrics.js'
import type { Auditing } from './auditing.js'
import type { Closers } from './closers.js'
import type { AppDeps } from './deps.js'
import { type Metering, openMetering } from './metering.js'
import { createSigning, type Signing } from './signing.js'

/** What all federations of a gateway have in common; each is opened once. */
export interface Shared {
  readonly auditing: Auditing | undefined
  /** Undefined where nothing is limited. */
  readonly limiter: Limiter | undefined
  /** Undefined where usage is not metered. */
  readonly metering: Metering | undefined
  /** Those that are open already: each adds itself. */
  readonly federations: Federation[]
  readonly metrics: Metrics
  /** Counts by version. */
  readonly versions: Observer
  readonly metricRegistry: MetricRegistry
  /** Undefined where no upstream is shown a token. */
  readonly signing: Signing | undefined
}

export interface SharedParts {
  /** The whole configuration. */
  readonly config: Config
  readonly deps: AppDeps
  /** How every upstream of every federation stands. */
  readonly upstreams: () => readonly UpstreamStatus[]
  readonly closers: Closers
}

/** What was opened is told to `closers` at once. What the configuration does not ask for is not even loaded. */
export async function openShared(parts: SharedParts): Promise<Shared> {
  const { config, deps, upstreams, closers } = parts
  const metricRegistry = new MetricRegistry()
  const metrics = createMetrics({ registry: metricRegistry, upstreams })
  const versions = createVersionMetrics({ registry: metricRegistry, versions: config.versions })
  const around = { config, deps, metricRegistry, closers }
  const auditing = config.audit && (await (await import('./auditing.js')).openAuditing(around))
  const limiter = config.quotas && (await (await import('./quotas.js')).openLimiter(around))
  const metering = await openMetering(around)
  const signing = createSigning(around)
  const federations: Federation[] = []
  return { federations, auditing, limiter, metering, metrics, versions, metricRegistry, signing }
}
