import type { Config } from '../config/config.js'
import type { QuotaConfig } from '../config/quotas.js'
import type { VersionConfig } from '../config/versions.js'
import { qualified } from '../config/views.js'
import type { Readiness } from '../edge/health.js'
import type { Core } from './core.js'
import type { Cores } from './cores.js'
import { quotaProblems } from './quota-problems.js'
import { type Report, readinessOf, reportOf, upstreamStates } from './report.js'

/** One version as the configuration has it. */
export interface VersionReport {
  readonly name: string
  readonly default: boolean
  /** The name of a federation, or the origin of the server that requests are passed on to. */
  readonly servedBy: { readonly federation: string } | { readonly origin: string }
  /** In ms since 1970. */
  readonly deprecated: number | undefined
  readonly sunset: number | undefined
}

/** What a whole gateway amounts to: its versions, and every federation that serves one. */
export interface GatewayReport {
  readonly versions: readonly VersionReport[]
  readonly federations: readonly (Report & { readonly federation: string })[]
  /** What tokens for owners call the gateway; undefined where no upstream is shown any. */
  readonly issuer: string | undefined
  /** What limits callers. */
  readonly quotas: readonly QuotaConfig[]
  /** What should be mended of the gateway itself. */
  readonly problems: readonly string[]
}

/** `faults` are those of what is asked or written to beside the upstreams. */
export function gatewayReport(
  config: Config,
  { all, signing }: Cores,
  faults: readonly string[],
): GatewayReport {
  return {
    issuer: signing && config.signing.issuer,
    quotas: config.quotas?.limits ?? [],
    problems: [...(signing?.problem() ?? []), ...quotaProblems(config), ...faults],
    versions: config.versions.map(versionReport),
    federations: all.map((core) => ({
      federation: core.name,
      ...reportOf(core.config, core.federation.report()),
    })),
  }
}

function versionReport(version: VersionConfig, index: number): VersionReport {
  const { name, serves, deprecated, sunset } = version
  const servedBy =
    serves.kind === 'federation'
      ? { federation: serves.federation }
      : { origin: new URL(serves.url).origin }
  return { name, default: index === 0, servedBy, deprecated, sunset }
}

/** For the operators' listener: every upstream of every federation, in names that are unique. */
export function allUpstreamStates(cores: readonly Core[]): unknown {
  return cores.flatMap(({ name: federation, federation: { report }, standing }) => {
    const states = upstreamStates(report(), (upstream) => standing.breaker(upstream))
    return states.map((state) => ({ ...state, name: qualified(federation, state.name) }))
  })
}

/**
 * A gateway can serve once its default version can: what other federations wait for is told, and keeps nobody from those that
 * are there. Where requests are passed on by default, it can at once.
 */
export function overallReadiness({ versions }: Config, cores: readonly Core[]): Readiness {
  const states = cores.map(({ name, federation }) => ({
    name,
    ...readinessOf(federation.report()),
  }))
  const serves = versions[0]?.serves
  const needed = serves?.kind === 'federation' ? serves.federation : undefined
  const first = states.find(({ name }) => name === needed)
  const { name: _, ...readiness } = first ?? { name: '', state: 'ready' as const }
  if (states.length < 2) return readiness
  const federations = Object.fromEntries(states.map(({ name, state }) => [name, state]))
  return { ...readiness, federations }
}
