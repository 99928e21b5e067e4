import { copyWith } from '../protocol/copy.js'
import { type Carried, EXTENSION } from '../protocol/extension.js'
import { matches, type Where } from '../protocol/matches.js'
import type { ParamsOf } from '../protocol/methods.js'
import type { Entry, MemoryRecord } from '../protocol/records.js'
import type { Owner } from '../protocol/scope.js'
import { formatInstant, parseInstant } from '../protocol/time.js'
import type { UpstreamProfile } from './profile.js'
import { reserve, restore } from './reserved.js'

/** A tier of the gateway and what the upstream calls it; undefined where the upstream has but one and no name for it. */
export interface Route {
  readonly tier: string
  readonly upstreamTier: string | undefined
}

export interface TranslationOptions {
  /** The upstream's name in the configuration. */
  readonly name: string
  readonly profile: UpstreamProfile
  readonly routes: readonly Route[]
  /** `apart`: the upstream keeps owners apart and is told them. `common`: it knows no owners. */
  readonly owners: 'apart' | 'common'
  /** `foreign`: the upstream numbers its records itself, and they are shown as `NAME:ID`. */
  readonly ids: 'own' | 'foreign'
  /** Names of all upstreams, since `NAME:` in front of an id says which is meant. */
  readonly names: ReadonlySet<string>
}

/** What is to be read, in the gateway's terms. */
export interface Selection {
  /** Tiers that this upstream has, at least one. */
  readonly tiers: readonly string[]
  readonly owner: Owner
  readonly where: Where | undefined
  /** 0 is everything. */
  readonly limit: number
}

/** An entry to write, in the gateway's terms, with what it brings along from where it was. */
export interface Outbound {
  readonly entry: Entry & { readonly id: string }
  readonly carried: Carried | undefined
}

/** A record of an upstream in the gateway's terms; `at` is its `created_at` as exactly as the upstream told it. */
export interface Arrived {
  readonly record: MemoryRecord
  readonly at: string
}

type Reading = Pick<
  ParamsOf<'memory/timeline'>,
  'tier' | 'where' | 'owner' | 'limit' | typeof EXTENSION
>

/** Turns the gateway's terms into one upstream's and back: ids, tier names, owners, reserved metadata. */
export class Translation {
  readonly #options: TranslationOptions
  readonly #toUpstream: ReadonlyMap<string, string | undefined>
  readonly #toGateway: Map<string | undefined, string>

  constructor(options: TranslationOptions) {
    this.#options = options
    this.#toUpstream = new Map(options.routes.map((route) => [route.tier, route.upstreamTier]))
    this.#toGateway = new Map(options.routes.map((route) => [route.upstreamTier, route.tier]))
    const [only, second] = options.profile.tiers
    const sole = only === undefined || second ? undefined : this.#toGateway.get(only.name)
    if (sole !== undefined) this.#toGateway.set(undefined, sole)
  }

  /**
   * The part of `where` that the upstream's records can be held to, ids in its own terms; undefined where none of the ids
   * asked for can be its. Tiers are in the selection's `tiers` and not in here.
   */
  whereHere(where: Where | undefined): Where | undefined {
    if (where === undefined) return {}
    const { tier: _, ...rest } = where
    if (!Object.hasOwn(rest, 'id')) return rest
    const wanted = Array.isArray(rest['id']) ? rest['id'] : [rest['id']]
    const ids = wanted.map((id) => (typeof id === 'string' ? this.idHere(id) : undefined))
    const here = ids.filter((id) => id !== undefined)
    return here.length === 0 ? undefined : { ...rest, id: here }
  }

  /** An id in the upstream's own terms; undefined where it says that it is another upstream's. */
  idHere(id: string): string | undefined {
    const { name, ids, names } = this.#options
    const colon = id.indexOf(':')
    const prefix = colon > 0 ? id.slice(0, colon) : ''
    if (prefix === name) return id.slice(colon + 1)
    return ids === 'foreign' || names.has(prefix) ? undefined : id
  }

  /**
   * Params that select; `where` is what `whereHere` made. Tests the upstream cannot be trusted with are left to `arrive`, and
   * then everything is asked for, since a limit would cut before them.
   */
  reading(selection: Selection, where: Where): Reading {
    const tiers = this.#tierFilter(selection.tiers)
    const owner = this.#ownerFilter(selection.owner)
    const filter = { ...this.#pushed(where), ...tiers.where, ...owner.where }
    return {
      ...tiers.params,
      ...owner.params,
      ...(Object.keys(filter).length > 0 ? { where: filter } : {}),
      limit: this.clamp(this.pushes(where) ? selection.limit : 0),
    }
  }

  /** Whether the upstream is told the whole of `where`, and so may be held to it. */
  pushes(where: Where): boolean {
    return Object.keys(this.#pushed(where)).length === Object.keys(where).length
  }

  /** The upstream's own maximum where more is asked, 0 (everything) included. */
  clamp(limit: number): number {
    const most = this.#options.profile.limits.max_recall_limit
    if (most === undefined) return limit
    return limit === 0 ? most : Math.min(limit, most)
  }

  writing(items: readonly Outbound[]): ParamsOf<'memory/remember'> {
    const records = items.map((item) => this.#entry(item))
    if (!this.#options.profile.extended || items.every((item) => item.carried === undefined)) {
      return { records }
    }
    return { records, [EXTENSION]: { carried: items.map((item) => item.carried ?? null) } }
  }

  /** Ids are in the upstream's own terms and the caller's by proof. */
  forgetting(ids: readonly string[], owner: Owner): ParamsOf<'memory/forget'> {
    return { ids: [...ids], ...this.#ownerFilter(owner).params }
  }

  promoting(ids: readonly string[], tier: string, owner: Owner): ParamsOf<'memory/promote'> {
    const upstreamTier = this.#toUpstream.get(tier) ?? tier
    const known = this.#options.profile.extended && owner !== undefined
    return { ids: [...ids], tier: upstreamTier, ...(known ? { [EXTENSION]: { owner } } : {}) }
  }

  describing(owner: Owner): ParamsOf<'memory/describe'> {
    return this.#ownerFilter(owner).params
  }

  /** A tier of the upstream by the gateway's name; undefined where it is not mapped. */
  tierName(upstreamTier: string): string | undefined {
    return this.#toGateway.get(upstreamTier)
  }

  /**
   * A record in the gateway's terms, or why it is none of this answer's: its tier is not mapped (`unmapped`), it is not the
   * caller's (`foreign`), or it does not pass `where` (`unmatched`), whatever the upstream thought.
   */
  arrive(
    raw: MemoryRecord,
    owner: Owner,
    where: Where,
  ): Arrived | 'unmapped' | 'foreign' | 'unmatched' {
    const tier = this.#toGateway.get(
      this.#options.profile.tiers.length === 0 ? undefined : raw.tier,
    )
    if (tier === undefined) return 'unmapped'
    if (!this.#admits(raw.owner, owner)) return 'foreign'
    const restored = restore(raw)
    const at = restored.created_at
    const record = copyWith(restored, { tier, created_at: canonical(at) })
    if (record.accessed_at !== undefined) record.accessed_at = canonical(record.accessed_at)
    if (!matches(record, where)) return 'unmatched'
    record.id = this.shownId(record.id)
    return { record, at }
  }

  /** How an id of the upstream is shown where it is shown unambiguously. */
  qualifiedId(id: string): string {
    return `${this.#options.name}:${id}`
  }

  /** Bare where it is taken back as the same id of the same upstream; qualified where it would not be. */
  shownId(id: string): string {
    return this.#options.ids === 'own' && this.idHere(id) === id ? id : this.qualifiedId(id)
  }

  /** Ownerless records of an upstream that knows no owners are common ground; the plan asks such only where that is so. */
  #admits(has: string | undefined, wanted: Owner): boolean {
    if (wanted === undefined) return true
    return has === undefined ? wanted === null || this.#options.owners === 'common' : has === wanted
  }

  #entry({ entry, carried }: Outbound): Entry {
    const { tier, owner, ...rest } = entry
    const upstreamTier = tier === undefined ? undefined : this.#toUpstream.get(tier)
    const { owners, profile } = this.#options
    const reserved = carried !== undefined && !profile.extended
    return {
      ...rest,
      ...(upstreamTier === undefined ? {} : { tier: upstreamTier }),
      ...(owners === 'common' || owner === undefined ? {} : { owner }),
      ...(reserved ? { metadata: reserve(entry.metadata, carried) } : {}),
    }
  }

  #tierFilter(tiers: readonly string[]): { params: { tier?: string }; where?: Where } {
    const { profile } = this.#options
    if (profile.tiers.length === 0) return { params: {} }
    const wanted = tiers.map((tier) => this.#toUpstream.get(tier) ?? tier)
    const [only] = wanted
    if (wanted.length === profile.tiers.length) return { params: {} }
    return wanted.length === 1 && only !== undefined
      ? { params: { tier: only } }
      : { params: {}, where: { tier: wanted } }
  }

  #ownerFilter(owner: Owner): { params: Pick<Reading, 'owner' | typeof EXTENSION>; where?: Where } {
    const { owners, profile } = this.#options
    if (owner === undefined || owners === 'common') return { params: {} }
    if (owner !== null) return { params: { owner } }
    if (profile.extended) return { params: { [EXTENSION]: { owner } } }
    return { params: {}, where: { owner: null } }
  }

  /** Leaves out what the upstream may hold otherwise than the gateway shows it. */
  #pushed(where: Where): Where {
    const { owners, profile } = this.#options
    const { owner: _owner, ...ownerless } = where
    const known = owners === 'common' ? ownerless : where
    if (profile.extended) return known
    const { created_at: _at, metadata: _metadata, ...safe } = known
    return safe
  }
}

const CANONICAL = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** §3.3: UTC with milliseconds, whatever offset and fraction the upstream wrote. */
function canonical(timestamp: string): string {
  return CANONICAL.test(timestamp) ? timestamp : formatInstant(parseInstant(timestamp) ?? 0)
}
