import { type Carried, EXTENSION, type ExtensionParams } from '../protocol/extension.js'
import { keyRange } from '../protocol/key-prefix.js'
import type { Where } from '../protocol/matches.js'
import type { ParamsOf } from '../protocol/methods.js'
import type { Entry } from '../protocol/records.js'
import type { Owner } from '../protocol/scope.js'
import type { UpstreamProfile } from './profile.js'
import { isHeldOtherwise, pack } from './reserved.js'

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
  /** Which records there are for the reader; undefined: all of its tiers. */
  readonly shows?: Shows | undefined
}

/** Whether a record is there for a reader, by the gateway's name of its tier, and its key. */
export type Shows = (tier: string, key: string | undefined) => boolean

/** Where records of one owner go within an upstream, and what is added to their salience. */
export interface Promoting {
  readonly tier: string
  readonly owner: Owner
  readonly salience?: number | undefined
}

/** What is to be read, in the gateway's terms. */
export interface Selection {
  /** Tiers that this upstream has, at least one. */
  readonly tiers: readonly string[]
  readonly owner: Owner
  readonly where: Where | undefined
  /** 0 is everything. */
  readonly limit: number
  /** Vectors come along, from an upstream that keeps any. */
  readonly embeddings?: boolean | undefined
  /**
   * The records are to be compared with the vector that is asked by: an upstream that knows the extension tells how similar they
   * are, from others their vectors come along.
   */
  readonly compared?: boolean | undefined
  /** The reading is no use of the records; an upstream that knows the extension is told so. */
  readonly quiet?: boolean | undefined
  /** Contents and metadata are not needed; an upstream that knows the extension may leave them out. */
  readonly outline?: boolean | undefined
  /** Only records whose key is at or beneath it; not empty. */
  readonly keyPrefix?: string | undefined
}

type Beside = Pick<Selection, 'embeddings' | 'compared' | 'quiet' | 'outline'>

/** An entry to write, in the gateway's terms, with what it brings along from where it was. */
export interface Outbound {
  readonly entry: Entry & { readonly id: string }
  readonly carried: Carried | undefined
}

type Reading = Pick<
  ParamsOf<'memory/timeline'>,
  'tier' | 'where' | 'owner' | 'limit' | 'embeddings' | 'key_prefix' | typeof EXTENSION
>

/** Puts what the gateway wants into one upstream's terms: tier names, owners, reserved metadata, and what it can be told of it. */
export class Phrasing {
  readonly #options: TranslationOptions
  readonly #toUpstream: ReadonlyMap<string, string | undefined>

  constructor(options: TranslationOptions) {
    this.#options = options
    this.#toUpstream = new Map(options.routes.map((route) => [route.tier, route.upstreamTier]))
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
      ...this.#told(selection, where, owner.params[EXTENSION]),
      ...(Object.keys(filter).length > 0 ? { where: filter } : {}),
      ...this.#prefixed(selection.keyPrefix),
      limit: this.clamp(this.holdsTo(where, selection.keyPrefix) ? selection.limit : 0),
    }
  }

  /** Whether the upstream can be trusted to select by the whole of `where` and by a prefix of keys, so that a limit may cut. */
  holdsTo(where: Where, keyPrefix: string | undefined): boolean {
    return this.pushes(where) && (keyPrefix === undefined || this.#knowsPaths())
  }

  /** §3.6 leaves open where a prefix ends; stores that know the extension take it as a path. */
  #knowsPaths(): boolean {
    const { extended, capabilities } = this.#options.profile
    return extended && capabilities.has('keys')
  }

  /** Without its slash, a prefix has everything beneath it also where it is matched by characters; the rest is left to `arrive`. */
  #prefixed(prefix: string | undefined): Pick<Reading, 'key_prefix'> {
    if (prefix === undefined || !this.#options.profile.capabilities.has('keys')) return {}
    return { key_prefix: this.#knowsPaths() ? prefix : keyRange(prefix).at || prefix }
  }

  /** What is said beside the selection: what is wanted with the records and what is not, and that the reading is no use. */
  #told(
    { embeddings, compared, quiet, outline }: Beside,
    where: Where,
    extension: ExtensionParams | undefined,
  ): Pick<Reading, 'embeddings' | typeof EXTENSION> | undefined {
    const { capabilities, extended } = this.#options.profile
    const along = embeddings || (compared && !extended) || Object.hasOwn(where, 'embedding')
    const told = extended ? this.#toldBeyond({ compared, quiet, outline }) : undefined
    if (!along && told === undefined) return undefined
    return {
      ...(along && capabilities.has('embeddings') ? { embeddings: true } : {}),
      ...(told === undefined ? {} : { [EXTENSION]: { ...extension, ...told } }),
    }
  }

  #toldBeyond({ compared, quiet, outline }: Beside): ExtensionParams | undefined {
    const silent = quiet && this.#options.profile.capabilities.has('salience')
    if (!silent && !compared && !outline) return undefined
    return {
      ...(silent ? { quiet } : {}),
      ...(compared ? { similarities: true } : {}),
      ...(outline ? { outline } : {}),
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
    const { profile } = this.#options
    const packed = items.map(({ entry, carried }) => pack(this.#entry(entry), carried, profile))
    const records = packed.map(({ entry }) => entry)
    if (packed.every(({ carried }) => carried === null)) return { records }
    return { records, [EXTENSION]: { carried: packed.map(({ carried }) => carried) } }
  }

  /** Undefined where the upstream has no keys, or cannot be told that records without an owner are meant. */
  fetching(
    key: string,
    { owner, embeddings, quiet }: Pick<Selection, 'owner' | 'embeddings' | 'quiet'>,
  ): ParamsOf<'memory/fetch'> | undefined {
    const whose = this.#ownerFilter(owner)
    if (!this.#options.profile.capabilities.has('keys') || whose.where !== undefined)
      return undefined
    const told = this.#told({ embeddings, quiet }, {}, whose.params[EXTENSION])
    return { key, ...whose.params, ...told }
  }

  /** Ids are in the upstream's own terms and the caller's by proof. */
  forgetting(ids: readonly string[], owner: Owner): ParamsOf<'memory/forget'> {
    return { ids: [...ids], ...this.#ownerFilter(owner).params }
  }

  /** `salience` is what an upstream that keeps any adds to the records as they arrive. */
  promoting(
    ids: readonly string[],
    { tier, owner, salience }: Promoting,
  ): ParamsOf<'memory/promote'> {
    const { extended, capabilities } = this.#options.profile
    const raised = salience !== undefined && capabilities.has('salience')
    return {
      ids: [...ids],
      tier: this.#toUpstream.get(tier) ?? tier,
      ...(raised ? { salience } : {}),
      ...(extended && owner !== undefined ? { [EXTENSION]: { owner } } : {}),
    }
  }

  /** Ids are in the upstream's own terms and the caller's by proof. */
  reinforcing(
    ids: readonly string[],
    { amount, owner }: { readonly amount: number | undefined; readonly owner: Owner },
  ): ParamsOf<'memory/reinforce'> {
    const known = this.#options.profile.extended && owner !== undefined
    return {
      ids: [...ids],
      ...(amount === undefined ? {} : { amount }),
      ...(known ? { [EXTENSION]: { owner } } : {}),
    }
  }

  /** Tells of records that went out to a caller. Of an upstream that does not know the extension it would be no use, but praise. */
  using(ids: readonly string[], owner: Owner): ParamsOf<'memory/reinforce'> {
    return { ids: [...ids], amount: 0, [EXTENSION]: { owner, used: true } }
  }

  describing(owner: Owner): ParamsOf<'memory/describe'> {
    return this.#ownerFilter(owner).params
  }

  #entry(entry: Outbound['entry']): Entry {
    const { tier, owner, ...rest } = entry
    const upstreamTier = tier === undefined ? undefined : this.#toUpstream.get(tier)
    return {
      ...rest,
      ...(upstreamTier === undefined ? {} : { tier: upstreamTier }),
      ...(this.#options.owners === 'common' || owner === undefined ? {} : { owner }),
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
    const names = Object.keys(known)
    const safe = names.filter((name) => !isHeldOtherwise(name, profile))
    return safe.length === names.length
      ? known
      : Object.fromEntries(safe.map((name) => [name, known[name]]))
  }
}
