import { EVERY_OWNER } from './api-key.js'
import type { AuthConfig } from './auth.js'
import type { Config, TierConfig, UpstreamConfig } from './config.js'
import { ConfigError } from './errors.js'
import { checkOwnerMetadata } from './owner-metadata.js'
import { checkTokens } from './signing.js'

/** What the upstreams and tiers of one federation demand of each other; `config` is as if it were the only one. */
export function checkFederation({ federation, auth }: Config): void {
  const { upstreams, tiers } = federation
  refuseMixedOwners(upstreams, auth)
  checkTokens(upstreams)
  checkOwnerMetadata(upstreams)
  for (const tier of tiers) checkTier(tier, federation)
  refuseSharedTiers(tiers)
  refuseSpillCircle(tiers)
}

function refuseMixedOwners(
  upstreams: readonly UpstreamConfig[],
  auth: AuthConfig | undefined,
): void {
  const confined = auth && confinedCaller(auth)
  if (confined === undefined) return
  for (const { name, owner, access } of upstreams) {
    if (owner !== 'none' || access === 'read-only') continue
    throw new ConfigError(
      ['upstreams', name, 'owner'],
      `none keeps nobody's records apart, and ${confined} is confined to its own; add access: read-only`,
    )
  }
}

/** Somebody who may not act for every owner, as people are told of them. */
function confinedCaller({ keys, jwt, mtls }: AuthConfig): string | undefined {
  const key = keys.find(({ owner }) => owner !== EVERY_OWNER)
  if (key !== undefined) return `the key ${key.name}`
  if (jwt.length > 0) return 'a token of auth.jwt'
  return mtls && 'a certificate of auth.mtls'
}

function checkTier(tier: TierConfig, federation: Config['federation']): void {
  const path = ['tiers', tier.name]
  const upstreams = federation.upstreams.map(({ name }) => name)
  const tiers = federation.tiers.map(({ name }) => name)
  mustExist(tier.upstream, upstreams, { path: [...path, 'upstream'], what: 'upstream' })
  for (const [index, name] of tier.also.entries()) {
    mustExist(name, upstreams, { path: [...path, 'also', index], what: 'upstream' })
    if (name === tier.upstream || tier.also.indexOf(name) < index) {
      throw new ConfigError([...path, 'also', index], `${name} is already asked for this tier`)
    }
  }
  for (const [key, target] of Object.entries({
    spill_to: tier.spillTo,
    promote_to: tier.promoteTo,
  })) {
    if (target === undefined) continue
    mustExist(target, tiers, { path: [...path, key], what: 'tier' })
    if (target === tier.name) throw new ConfigError([...path, key], 'is the tier itself')
  }
  if (tier.overflow === 'drop' && tier.spillTo !== undefined) {
    throw new ConfigError([...path, 'overflow'], 'drop and spill_to exclude each other')
  }
  checkFlow(tier, federation.tiers)
}

/** What goes on from one tier to another by itself. */
function checkFlow(tier: TierConfig, tiers: readonly TierConfig[]): void {
  const path = ['tiers', tier.name]
  const spills = tiers.find(({ name }) => name === tier.spillTo)
  if (spills?.kind === 'procedural') {
    throw new ConfigError(
      [...path, 'spill_to'],
      `${spills.name} is procedural memory, and nothing spills into that`,
    )
  }
  if (tier.promoteAfter !== undefined && tier.promoteTo === undefined) {
    throw new ConfigError([...path, 'promote_after'], 'needs a promote_to that says where to')
  }
  if (tier.perSession && tier.capacity === 0) {
    throw new ConfigError([...path, 'per_session'], 'needs a capacity that each session may have')
  }
}

interface Reference {
  readonly path: readonly (string | number)[]
  readonly what: 'upstream' | 'tier'
}

function mustExist(name: string, known: readonly string[], { path, what }: Reference): void {
  if (known.includes(name)) return
  throw new ConfigError(path, `there is no ${what} called ${name}; there are ${known.join(', ')}`)
}

function refuseSharedTiers(tiers: readonly TierConfig[]): void {
  for (const [index, tier] of tiers.entries()) {
    const twin = tiers
      .slice(0, index)
      .find((other) => other.upstream === tier.upstream && other.upstreamTier === tier.upstreamTier)
    if (twin === undefined) continue
    throw new ConfigError(
      ['tiers', tier.name, 'upstream_tier'],
      `${tier.upstreamTier} of ${tier.upstream} is already the tier ${twin.name}`,
    )
  }
}

function refuseSpillCircle(tiers: readonly TierConfig[]): void {
  for (const { name } of tiers) {
    const route = [name]
    let next = tiers.find((tier) => tier.name === name)?.spillTo
    while (next !== undefined && !route.includes(next)) {
      route.push(next)
      next = tiers.find((tier) => tier.name === route.at(-1))?.spillTo
    }
    if (next !== name) continue
    throw new ConfigError(
      ['tiers', name, 'spill_to'],
      `spills in a circle: ${[...route, name].join(' > ')}`,
    )
  }
}
