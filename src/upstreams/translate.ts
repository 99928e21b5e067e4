import type { Carried } from '../protocol/extension.js'
import { matches, type Where } from '../protocol/matches.js'
import type { MemoryRecord } from '../protocol/records.js'
import { type Owner, ownerKey } from '../protocol/scope.js'
import { formatInstant, parseInstant } from '../protocol/time.js'
import { Phrasing, type Shows, type TranslationOptions } from './phrasing.js'
import { restore } from './reserved.js'

/**
 * A record of an upstream in the gateway's terms; `at` is its `created_at` as exactly as the upstream told it, `identity` what
 * `identityOf` makes of it, `carried` what of it stands in reserved metadata there and must be written again with whatever
 * replaces the record, `similarity` how near it is to the vector that was asked by, where that is known.
 */
export interface Arrived {
  readonly record: MemoryRecord
  readonly at: string
  readonly identity: string
  readonly carried?: Carried | undefined
  readonly similarity?: number | undefined
}

/** What makes two records one before their contents are looked at. */
export function identityOf({ owner, id }: Pick<MemoryRecord, 'owner' | 'id'>): string {
  return ownerKey(owner ?? null) + id
}

/** Turns the gateway's terms into one upstream's and back: ids, tier names, owners, reserved metadata. */
export class Translation extends Phrasing {
  readonly #options: TranslationOptions
  readonly #toGateway: Map<string | undefined, string>

  constructor(options: TranslationOptions) {
    super(options)
    this.#options = options
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

  /** A tier of the upstream by the gateway's name; undefined where it is not mapped. */
  tierName(upstreamTier: string): string | undefined {
    return this.#toGateway.get(upstreamTier)
  }

  /** The same upstream for a reader to whom only these of its tiers are there, and of them what `shows` says. */
  narrowed(tiers: readonly string[], shows?: Shows): Translation {
    const routes = this.#options.routes.filter(({ tier }) => tiers.includes(tier))
    return new Translation({ ...this.#options, routes, shows })
  }

  /** Whether a record, as the upstream tells it, is there for the reader. */
  isShown(raw: MemoryRecord): boolean {
    const told = this.#options.profile.tiers.length === 0 ? undefined : raw.tier
    const tier = this.#toGateway.get(told)
    if (tier === undefined) return false
    const { shows } = this.#options
    return shows === undefined || shows(tier, restore(raw).record.key)
  }

  /**
   * Turns a record, which must be the reader's own, into the gateway's terms, or says why it is none of this answer's: its
   * tier is not mapped or it is not there for the reader (`unmapped`), it is not the caller's (`foreign`), or it does not pass `where` (`unmatched`), whatever
   * the upstream thought.
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
    const { record, carried } = restore(raw)
    if (this.#options.shows?.(tier, record.key) === false) return 'unmapped'
    const at = record.created_at
    record.tier = tier
    record.created_at = canonical(at)
    if (record.accessed_at !== undefined) record.accessed_at = canonical(record.accessed_at)
    if (!matches(record, where)) return 'unmatched'
    record.id = this.shownId(record.id)
    const identity = identityOf(record)
    return carried === undefined ? { record, at, identity } : { record, at, identity, carried }
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
}

const CANONICAL = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** §3.3: UTC with milliseconds, whatever offset and fraction the upstream wrote. */
function canonical(timestamp: string): string {
  return CANONICAL.test(timestamp) ? timestamp : formatInstant(parseInstant(timestamp) ?? 0)
}
