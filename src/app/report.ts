import type { Config } from '../config/config.js'
import type { Readiness } from '../edge/health.js'
import type { Federation } from '../federation/federation.js'
import type { Layout, TierLayout } from '../federation/layout.js'
import type { Promised } from '../federation/promise.js'
import type { Description } from '../protocol/methods.js'
import type { Upstream } from '../upstreams/upstream.js'

/** One upstream as it was last seen; what it says of itself is undefined where it never did. */
export interface UpstreamReport {
  readonly name: string
  readonly state: Upstream['state']
  readonly reason: string | undefined
  readonly protocol: string | undefined
  readonly capabilities: ReadonlySet<string> | undefined
  readonly readOnly: boolean | undefined
  readonly tiers: readonly string[] | undefined
}

/** One tier: the upstream that it is written to, or why to none, and those that are read for it besides. */
export interface TierReport {
  readonly name: string
  readonly kind: string | undefined
  readonly home: string | undefined
  readonly homeless: string | undefined
  readonly also: readonly string[]
}

/** What a gateway amounts to at the moment: what it declares, what is withheld and why, and what should be mended. */
export interface Report extends Promised {
  readonly name: string
  readonly upstreams: readonly UpstreamReport[]
  readonly tiers: readonly TierReport[]
  readonly problems: readonly string[]
}

type Told = ReturnType<Federation['report']>

export function reportOf(
  { name, federation }: Config,
  { layout, promised, registry }: Told,
): Report {
  return {
    name,
    ...promised,
    upstreams: registry.upstreams.map(upstreamReport),
    tiers: layout.tiers.map((tier) => tierReport(tier, layout)),
    problems: [...layout.problems, ...unmapped(federation)],
  }
}

function upstreamReport({ name, state, reason, profile }: Upstream): UpstreamReport {
  return {
    name,
    state,
    reason,
    protocol: profile?.protocol,
    capabilities: profile?.capabilities,
    readOnly: profile?.readOnly,
    tiers: profile?.tiers.map((tier) => tier.name),
  }
}

function tierReport({ name, kind, home, homeless }: TierLayout, { sources }: Layout): TierReport {
  const also = sources.filter((source) => source !== home && source.tiers.includes(name))
  return { name, kind, home: home?.name, homeless, also: also.map((source) => source.name) }
}

function unmapped({ upstreams, tiers }: Config['federation']): readonly string[] {
  if (tiers.length === 0) return []
  const mapped = new Set(tiers.flatMap(({ upstream, also }) => [upstream, ...also]))
  return upstreams
    .filter(({ name }) => !mapped.has(name))
    .map(({ name }) => `upstreams.${name}: no tier names it, so it is never asked`)
}

/** For the operators' listener: plain JSON. */
export function upstreamStates({ registry }: Told, breaker: (upstream: string) => string): unknown {
  return registry.upstreams.map((upstream) => {
    const { capabilities, ...rest } = upstreamReport(upstream)
    return { ...rest, breaker: breaker(upstream.name), capabilities: [...(capabilities ?? [])] }
  })
}

/** It can serve once any upstream has described itself, in this run or an earlier one. */
export function readinessOf({ layout }: Told): Readiness {
  if (layout.sources.length > 0) return { state: 'ready' }
  return { state: 'waiting', reason: 'no upstream has described itself yet' }
}

/** A server that does not know its callers must not speak of scopes (§6). */
export function profileForAnyone(profile: Description, { auth }: Config): Description {
  if (auth !== undefined) return profile
  const capabilities = profile.capabilities.filter((capability) => capability !== 'scopes')
  return { ...profile, capabilities }
}
