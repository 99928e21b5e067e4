import type { FederationConfig, TierConfig } from '../config/config.js'
import type { UpstreamProfile } from '../upstreams/profile.js'
import { type Route, Translation } from '../upstreams/translate.js'
import type { Upstream } from '../upstreams/upstream.js'

/** An upstream as this federation uses it: the tiers that it has here and what may be done with it. */
export interface Source {
  readonly name: string
  readonly upstream: Upstream
  readonly profile: UpstreamProfile
  readonly translation: Translation
  /** The gateway's names of its tiers, in the order of the layout. */
  readonly tiers: readonly string[]
  /** The gateway may write to it. */
  readonly writable: boolean
  /** `common`: it keeps no owners apart, and its records are everyone's where it is read-only. */
  readonly owners: 'apart' | 'common'
}

/** A tier of the federation. Without a `home` nothing can be written to it, for the reason that `homeless` gives. */
export interface TierLayout {
  readonly name: string
  readonly kind: string | undefined
  readonly capacity: number
  readonly spillTo: string | undefined
  readonly promoteTo: string | undefined
  readonly overflow: 'keep' | 'drop'
  readonly home: Source | undefined
  readonly homeless: string | undefined
}

/** Where everything lives at the moment: derived from the configuration and the profiles, nothing else. */
export interface Layout {
  readonly tiers: readonly TierLayout[]
  readonly sources: readonly Source[]
  /** Mapped upstreams that cannot be asked, and why: never described, or of another version. */
  readonly absent: ReadonlyMap<string, string>
  /** What an operator should mend; nothing of it stops the rest from working. */
  readonly problems: readonly string[]
}

/** Works out the layout. Upstreams that nothing is mapped to are left out. */
export function layOut(config: FederationConfig, upstreams: readonly Upstream[]): Layout {
  const problems: string[] = []
  const tiers = config.tiers.length > 0 ? config.tiers : declaredTiers(upstreams, problems)
  const names = new Set(upstreams.map((upstream) => upstream.name))
  const sources: Source[] = []
  const absent = new Map<string, string>()
  for (const upstream of upstreams) {
    const wanted = tiers.filter((tier) => holds(tier, upstream.name))
    const reason = whyAbsent(upstream)
    if (reason !== undefined) {
      if (wanted.length > 0 || config.tiers.length === 0) absent.set(upstream.name, reason)
    } else if (upstream.profile !== undefined && wanted.length > 0) {
      const routes = routesOf(upstream.name, upstream.profile, wanted, problems)
      const homes = wanted.some((tier) => tier.upstream === upstream.name)
      sources.push(sourceOf({ upstream, profile: upstream.profile, routes, names, homes }))
    }
  }
  return { tiers: tiers.map((tier) => tierOf(tier, sources, absent)), sources, absent, problems }
}

function holds(tier: TierConfig, upstream: string): boolean {
  return tier.upstream === upstream || tier.also.includes(upstream)
}

function whyAbsent(upstream: Upstream): string | undefined {
  if (upstream.state === 'incompatible') return upstream.reason ?? 'speaks another version'
  return upstream.profile === undefined
    ? (upstream.reason ?? 'has not described itself yet')
    : undefined
}

/** Without configured tiers, the upstreams' own; one that has none is a tier of its own name. */
function declaredTiers(upstreams: readonly Upstream[], problems: string[]): TierConfig[] {
  const taken = new Map<string, string>()
  const tiers: TierConfig[] = []
  for (const { name, profile } of upstreams) {
    if (profile === undefined) continue
    const own = profile.tiers.length > 0 ? profile.tiers : [{ name, kind: undefined }]
    for (const tier of own) {
      const other = taken.get(tier.name)
      if (other === undefined) {
        taken.set(tier.name, name)
        tiers.push(declaredTier(tier, name))
      } else {
        problems.push(
          `tier "${tier.name}" is declared by ${other} and by ${name}: name the tiers under "tiers" in the configuration`,
        )
      }
    }
  }
  return tiers
}

function declaredTier(
  tier: { name: string; kind?: string | undefined },
  upstream: string,
): TierConfig {
  return {
    name: tier.name,
    kind: tier.kind,
    upstream,
    upstreamTier: tier.name,
    also: [],
    capacity: 0,
    spillTo: undefined,
    promoteTo: undefined,
    overflow: 'keep',
  }
}

/** Matches the wanted tiers with what the upstream has; what it does not have is a problem and no route. */
function routesOf(
  upstream: string,
  profile: UpstreamProfile,
  wanted: readonly TierConfig[],
  problems: string[],
): Route[] {
  if (profile.tiers.length === 0) return onlyRoute(upstream, wanted, problems)
  const has = new Set(profile.tiers.map((tier) => tier.name))
  const routes: Route[] = []
  for (const tier of wanted) {
    const upstreamTier = [tier.upstreamTier, tier.name].find((name) => has.has(name))
    if (upstreamTier === undefined) {
      problems.push(`tiers.${tier.name}: upstream ${upstream} has no tier "${tier.upstreamTier}"`)
    } else {
      routes.push({ tier: tier.name, upstreamTier })
    }
  }
  return routes
}

function onlyRoute(upstream: string, wanted: readonly TierConfig[], problems: string[]): Route[] {
  const [first, ...others] = wanted
  for (const tier of others) {
    problems.push(
      `tiers.${tier.name}: upstream ${upstream} has no tiers and serves ${first?.name} alone`,
    )
  }
  return first === undefined ? [] : [{ tier: first.name, upstreamTier: undefined }]
}

interface SourceOptions {
  readonly upstream: Upstream
  readonly profile: UpstreamProfile
  readonly routes: readonly Route[]
  readonly names: ReadonlySet<string>
  /** Some tier lives there; others are only read. */
  readonly homes: boolean
}

function sourceOf({ upstream, profile, routes, names, homes }: SourceOptions): Source {
  const { name, config } = upstream
  const foreign =
    config.ids ?? (profile.readOnly && config.connect.kind !== 'store' ? 'foreign' : 'own')
  const apart = config.owner !== 'none' && profile.capabilities.has('scopes')
  const owners = apart ? 'apart' : 'common'
  return {
    name,
    upstream,
    profile,
    translation: new Translation({ name, profile, routes, owners, ids: foreign, names }),
    tiers: routes.map((route) => route.tier),
    writable: homes && !profile.readOnly && foreign === 'own',
    owners,
  }
}

function tierOf(
  tier: TierConfig,
  sources: readonly Source[],
  absent: ReadonlyMap<string, string>,
): TierLayout {
  const source = sources.find(
    ({ name, tiers }) => name === tier.upstream && tiers.includes(tier.name),
  )
  const homeless = whyHomeless(tier, source, absent)
  const { name, kind, capacity, spillTo, promoteTo, overflow } = tier
  const home = homeless === undefined ? source : undefined
  return { name, kind, capacity, spillTo, promoteTo, overflow, home, homeless }
}

function whyHomeless(
  tier: TierConfig,
  source: Source | undefined,
  absent: ReadonlyMap<string, string>,
): string | undefined {
  const gone = absent.get(tier.upstream)
  if (gone !== undefined) return `its upstream ${tier.upstream} cannot be used: ${gone}`
  if (source === undefined) return `upstream ${tier.upstream} has no tier "${tier.upstreamTier}"`
  return source.writable ? undefined : `its upstream ${tier.upstream} is read-only`
}
