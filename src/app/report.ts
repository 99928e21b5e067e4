import type { Config, UpstreamConfig } from '../config/config.js'
import { ConfigError } from '../config/errors.js'
import { audienceOf } from '../config/signing.js'
import type { Readiness } from '../edge/health.js'
import type { Federation } from '../federation/federation.js'
import type { Layout, TierLayout } from '../federation/layout.js'
import type { Promised } from '../federation/promise.js'
import { CAPABILITIES, type Description, methodsOf } from '../protocol/methods.js'
import type { UpstreamVectors } from '../upstreams/profile.js'
import type { Upstream } from '../upstreams/upstream.js'

/** One upstream as it was last seen; what it says of itself is undefined where it never did. */
export interface UpstreamReport {
  readonly name: string
  readonly state: Upstream['state']
  readonly reason: string | undefined
  readonly protocol: string | undefined
  readonly capabilities: ReadonlySet<string> | undefined
  readonly embeddings: UpstreamVectors | undefined
  readonly readOnly: boolean | undefined
  readonly tiers: readonly string[] | undefined
  /** How callers' owners reach it, where the configuration says so. */
  readonly owner: UpstreamConfig['owner']
  /** Whom tokens for it are for; undefined where it is shown none. */
  readonly audience: string | undefined
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

export function reportOf(config: Config, { layout, promised, registry }: Told): Report {
  const { name, federation } = config
  return {
    name,
    ...promisedTo(config, promised),
    upstreams: registry.upstreams.map(upstreamReport),
    tiers: layout.tiers.map((tier) => tierReport(tier, layout)),
    problems: [...layout.problems, ...unmapped(federation), ...registry.upstreams.flatMap(flawsOf)],
  }
}

function upstreamReport({ name, state, reason, profile, config }: Upstream): UpstreamReport {
  return {
    name,
    state,
    reason,
    protocol: profile?.protocol,
    capabilities: profile?.capabilities,
    embeddings: profile?.embeddings,
    readOnly: profile?.readOnly,
    tiers: profile?.tiers.map((tier) => tier.name),
    owner: config.owner,
    audience: audienceOf(config),
  }
}

function tierReport({ name, kind, home, homeless }: TierLayout, { sources }: Layout): TierReport {
  const also = sources.filter((source) => source !== home && source.tiers.includes(name))
  return { name, kind, home: home?.name, homeless, also: also.map((source) => source.name) }
}

function flawsOf({ name, flaws }: Upstream): string[] {
  return flaws.map((flaw) => `upstreams.${name}: ${flaw}`)
}

function unmapped({ upstreams, tiers }: Config['federation']): readonly string[] {
  if (tiers.length === 0) return []
  const mapped = new Set(tiers.flatMap(({ upstream, also }) => [upstream, ...also]))
  return upstreams
    .filter(({ name }) => !mapped.has(name))
    .map(({ name }) => `upstreams.${name}: no tier names it, so it is never asked`)
}

/** For the operators' listener: plain JSON. */
export function upstreamStates(
  { registry }: Told,
  breaker: (upstream: string) => string,
): readonly ({ readonly name: string } & object)[] {
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

const UNKNOWN_CALLERS =
  'nobody is known over HTTP without auth.keys; over stdio, callers are taken at their word'

/** A server that does not know its callers must not speak of scopes over a network (§6). */
function promisedTo({ auth }: Config, promised: Promised): Promised {
  if (auth !== undefined || !promised.capabilities.has('scopes')) return promised
  const capabilities = new Set(promised.capabilities)
  capabilities.delete('scopes')
  const withheld = new Map(promised.withheld).set('scopes', [UNKNOWN_CALLERS])
  return { ...promised, capabilities, withheld }
}

/** What is promised to callers over HTTP, for those who have not called yet. */
export function profileForAnyone(profile: Description, config: Config, told: Told): Description {
  const { capabilities } = promisedTo(config, told.promised)
  return {
    ...profile,
    capabilities: CAPABILITIES.filter((capability) => capabilities.has(capability)),
    methods: methodsOf(capabilities),
  }
}

/** Where the upstreams' own tiers are taken, one name from two of them is for the configuration to settle. */
export function refuseTwinTiers({ federation }: Config, { layout }: Told): void {
  const [problem] = layout.problems
  if (federation.tiers.length === 0 && problem !== undefined) {
    throw new ConfigError(['tiers'], problem)
  }
}
