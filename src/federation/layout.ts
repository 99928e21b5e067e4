import type { FederationConfig, TierConfig } from '../config/config.js'
import type { Memory } from '../protocol/memory.js'
import type { UpstreamProfile } from '../upstreams/profile.js'
import { Translation } from '../upstreams/translate.js'
import type { Upstream } from '../upstreams/upstream.js'
import { routesOf } from './routes.js'
import type { Distrust } from './trust.js'

/** An upstream as this federation uses it: the tiers that it has here and what may be done with it. */
export interface Source {
  readonly name: string
  readonly upstream: Upstream
  /** What is asked. */
  readonly memory: Memory
  readonly profile: UpstreamProfile
  readonly translation: Translation
  /** The gateway's names of its tiers, in the order of the layout. */
  readonly tiers: readonly string[]
  /** The gateway may write to it. */
  readonly writable: boolean
  /** `common`: it keeps no owners apart, and its records are everyone's where it is read-only. */
  readonly owners: 'apart' | 'common'
  /** What it declares and was found not to keep; the profile is without it. */
  readonly untrue: ReadonlySet<string>
  /** Not every record in its tiers is there for the caller, so that no count of its own can be told. */
  readonly veiled?: true
}

/** A tier of the federation. Without a `home` nothing can be written to it, for the reason that `homeless` gives. */
export interface TierLayout {
  readonly name: string
  readonly kind: string | undefined
  readonly capacity: number
  readonly perSession: boolean
  readonly spillTo: string | undefined
  readonly promoteTo: string | undefined
  readonly promoteAfter: number | undefined
  /** In ms. */
  readonly halfLife: number | undefined
  readonly overflow: 'keep' | 'drop'
  /** Names of the upstreams that it is mapped to, whether or not they can be asked. */
  readonly upstreams: readonly string[]
  readonly home: Source | undefined
  readonly homeless: string | undefined
}

/** Where everything lives at the moment: derived from the configuration and the profiles, nothing else. */
export interface Layout {
  readonly tiers: readonly TierLayout[]
  readonly sources: readonly Source[]
  /** Mapped upstreams that cannot be asked, and why: never described, or of another version. */
  readonly absent: ReadonlyMap<string, string>
  /** Those of the absent that may turn out to be writable. */
  readonly undecided: ReadonlySet<string>
  /** What an operator should mend; nothing of it stops the rest from working. */
  readonly problems: readonly string[]
}

/** Works out the layout. Upstreams that nothing is mapped to are left out. */
export function layOut(
  config: FederationConfig,
  upstreams: readonly Upstream[],
  untrueOf: Distrust = () => new Set(),
): Layout {
  const problems: string[] = []
  const configured = config.tiers.length > 0
  const tiers = configured ? config.tiers : declaredTiers(upstreams, problems)
  const names = new Set(upstreams.map((upstream) => upstream.name))
  const mapped = upstreams
    .map((upstream) => ({
      upstream,
      wanted: tiers.filter((tier) => holds(tier, upstream.name)),
      reason: whyAbsent(upstream),
    }))
    .filter(({ wanted, reason }) => wanted.length > 0 || (reason !== undefined && !configured))
  const sources = mapped.flatMap(({ upstream, wanted, reason }) =>
    reason === undefined ? sourcesOf(upstream, { wanted, names, problems, untrueOf }) : [],
  )
  const missing = mapped.filter(({ reason }) => reason !== undefined)
  const absent = new Map(missing.map(({ upstream, reason = '' }) => [upstream.name, reason]))
  const open = missing.filter(({ upstream, wanted }) => mayBeWritable(upstream, wanted))
  const undecided = new Set(open.map(({ upstream }) => upstream.name))
  const laidOut = withoutSpills(
    tiers.map((tier) => tierOf(tier, sources, absent)),
    problems,
  )
  problems.push(...laidOut.flatMap(whatNobodyHas))
  return { tiers: laidOut, sources, absent, undecided, problems }
}

function holds(tier: TierConfig, upstream: string): boolean {
  return tier.upstream === upstream || tier.also.includes(upstream)
}

function livesAt(upstream: string, name: string, tiers: readonly TierConfig[]): boolean {
  return tiers.some((tier) => tier.name === name && tier.upstream === upstream)
}

function mayBeWritable({ name, config }: Upstream, wanted: readonly TierConfig[]): boolean {
  const readOnly = config.access === 'read-only' || config.ids === 'foreign'
  return !readOnly && (wanted.length === 0 || wanted.some((tier) => tier.upstream === name))
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
    perSession: false,
    spillTo: undefined,
    promoteTo: undefined,
    promoteAfter: undefined,
    halfLife: undefined,
    overflow: 'keep',
  }
}

interface Wanted {
  /** The tiers that are mapped to it, home or not. */
  readonly wanted: readonly TierConfig[]
  readonly names: ReadonlySet<string>
  readonly problems: string[]
  readonly untrueOf: Distrust
}

/** The source that an upstream is, once it has described itself. */
function sourcesOf(upstream: Upstream, { wanted, names, problems, untrueOf }: Wanted): Source[] {
  const { name, config } = upstream
  if (upstream.profile === undefined) return []
  const untrue = untrueOf(name)
  const profile = without(upstream.profile, untrue)
  const routes = routesOf({ upstream: name, profile, wanted }, problems)
  const homes = routes.some(({ tier }) => livesAt(name, tier, wanted))
  const ids =
    config.ids ?? (profile.readOnly && config.connect.kind !== 'store' ? 'foreign' : 'own')
  const apart = config.owner !== 'none' && profile.capabilities.has('scopes')
  const owners = apart ? 'apart' : 'common'
  const translation = new Translation({ name, profile, routes, owners, ids, names })
  const tiers = routes.map((route) => route.tier)
  const writable = homes && !profile.readOnly && ids === 'own'
  const { memory } = upstream
  return [{ name, upstream, memory, profile, translation, tiers, writable, owners, untrue }]
}

function without(profile: UpstreamProfile, untrue: ReadonlySet<string>): UpstreamProfile {
  if (untrue.size === 0) return profile
  const kept = [...profile.capabilities].filter((capability) => !untrue.has(capability))
  return { ...profile, capabilities: new Set(kept) }
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
  const { upstream, upstreamTier, also, ...settings } = tier
  const home = homeless === undefined ? source : undefined
  const told = source?.profile.tiers.find(({ name }) => name === upstreamTier)?.kind
  const kind = tier.kind ?? told
  return { ...settings, kind, upstreams: [upstream, ...also], home, homeless }
}

/** Nothing spills into procedural memory (§4.7), also where only its upstream says that it is. */
function withoutSpills(tiers: readonly TierLayout[], problems: string[]): TierLayout[] {
  const procedural = new Set(
    tiers.filter(({ kind }) => kind === 'procedural').map(({ name }) => name),
  )
  return tiers.map((tier) => {
    if (tier.spillTo === undefined || !procedural.has(tier.spillTo)) return tier
    problems.push(
      `tiers.${tier.name}.spill_to: ${tier.spillTo} is procedural memory by its upstream, and nothing spills into that`,
    )
    return { ...tier, spillTo: undefined }
  })
}

/** Settings of a tier that have no effect, since its home keeps nothing that they could go by. */
function whatNobodyHas(tier: TierLayout): string[] {
  const { name, home, perSession, promoteAfter, halfLife } = tier
  const needs = [
    ['per_session', perSession, 'sessions'],
    ['promote_after', promoteAfter !== undefined, 'salience'],
    ['half_life', halfLife !== undefined, 'salience'],
  ] as const
  return needs.flatMap(([setting, set, capability]) =>
    !set || home === undefined || home.profile.capabilities.has(capability)
      ? []
      : [`tiers.${name}.${setting}: ${home.name} does not declare ${capability}`],
  )
}

function whyHomeless(
  tier: TierConfig,
  source: Source | undefined,
  absent: ReadonlyMap<string, string>,
): string | undefined {
  const gone = absent.get(tier.upstream)
  if (gone !== undefined) return `its upstream ${tier.upstream} cannot be used: ${gone}`
  if (source === undefined) return `upstream ${tier.upstream} has no tier "${tier.upstreamTier}"`
  if (source.writable) return undefined
  return source.profile.readOnly
    ? `its upstream ${tier.upstream} is read-only`
    : `its upstream ${tier.upstream} numbers its records itself (ids: foreign)`
}
