import type { TierConfig } from '../config/config.js'
import type { Route } from '../upstreams/phrasing.js'
import type { UpstreamProfile } from '../upstreams/profile.js'

export interface Routing {
  /** The upstream's name in the configuration. */
  readonly upstream: string
  readonly profile: UpstreamProfile
  /** Tiers that live there or are read there. */
  readonly wanted: readonly TierConfig[]
}

/**
 * Matches the wanted tiers with what the upstream has, each of its own with one; what it does not have is a problem and no
 * route. A tier that is only read there may go by either name.
 */
export function routesOf({ upstream, profile, wanted }: Routing, problems: string[]): Route[] {
  if (profile.tiers.length === 0) return onlyRoute(upstream, wanted, problems)
  const left = new Set(profile.tiers.map((tier) => tier.name))
  const routes = new Map<string, Route>()
  for (const tier of homesFirst(upstream, wanted)) {
    const names = tier.upstream === upstream ? [tier.upstreamTier] : [tier.upstreamTier, tier.name]
    const upstreamTier = names.find((name) => left.delete(name))
    if (upstreamTier !== undefined) routes.set(tier.name, { tier: tier.name, upstreamTier })
    else problems.push(missing(upstream, tier, profile))
  }
  return wanted.flatMap((tier) => routes.get(tier.name) ?? [])
}

function missing(upstream: string, tier: TierConfig, { tiers }: UpstreamProfile): string {
  const { name, upstreamTier } = tier
  return tiers.some((other) => other.name === upstreamTier)
    ? `tiers.${name}: "${upstreamTier}" of upstream ${upstream} is another tier already`
    : `tiers.${name}: upstream ${upstream} has no tier "${upstreamTier}"`
}

/** A tier that lives there goes before one that is only read there. */
function homesFirst(upstream: string, wanted: readonly TierConfig[]): readonly TierConfig[] {
  const guest = (tier: TierConfig) => Number(tier.upstream !== upstream)
  return wanted.toSorted((a, b) => guest(a) - guest(b))
}

function onlyRoute(upstream: string, wanted: readonly TierConfig[], problems: string[]): Route[] {
  const [first, ...others] = homesFirst(upstream, wanted)
  for (const tier of others) {
    problems.push(
      `tiers.${tier.name}: upstream ${upstream} has no tiers and serves ${first?.name} alone`,
    )
  }
  return first === undefined ? [] : [{ tier: first.name, upstreamTier: undefined }]
}
