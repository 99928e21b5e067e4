import type { Database } from 'better-sqlite3'
import { A2mError } from '../protocol/errors.js'
import type { Limits, ParamsOf } from '../protocol/methods.js'
import { ownerOf } from '../protocol/scope.js'
import type { Clock } from '../protocol/time.js'
import { Tokenizer } from '../text/tokenizer.js'
import type { TierOption } from './options.js'
import { Partitions } from './partitions.js'
import { Postings } from './postings.js'
import { RecordsTable } from './records-table.js'
import { type Effort, Search } from './search.js'
import { Selection } from './selection.js'
import { Writer } from './writer.js'

/** What a store takes from outside. */
export interface Services {
  readonly clock: Clock
  /** A new id, never given before. */
  readonly newId: () => string
}

/** What all methods of one open store work with. */
export interface Shelf extends Services {
  readonly db: Database
  readonly name: string
  readonly tiers: readonly TierOption[]
  readonly limits: Limits
  /** How many records recall gives where the caller names no limit. */
  readonly defaultLimit: number
  readonly partitions: Partitions
  readonly records: RecordsTable
  readonly writer: Writer
  readonly search: Search
  readonly tokenizer: Tokenizer
}

/** What a store is set to, read from its options. */
export type Settings = Pick<Shelf, 'name' | 'tiers' | 'limits' | 'defaultLimit'>

/** `effort` is how much a search reads, unless it is to be what serves well. */
export function openShelf(
  db: Database,
  settings: Settings,
  services: Services & { readonly effort?: Effort },
): Shelf {
  const partitions = new Partitions(db)
  const records = new RecordsTable(db)
  const postings = new Postings(db)
  const tokenizer = new Tokenizer()
  return {
    db,
    ...settings,
    ...services,
    partitions,
    records,
    writer: new Writer(records, postings, partitions, tokenizer),
    search: new Search(postings, records, tokenizer, services.effort),
    tokenizer,
  }
}

/** Selects by the params of a reading call or of forget; an empty tier is absent. */
export function select(
  shelf: Shelf,
  params: Partial<
    Pick<ParamsOf<'memory/forget'>, 'ids' | 'tier' | 'where' | 'owner' | 'a2m-gateway'>
  >,
): Selection {
  if (params.tier) requireTier(shelf, params.tier)
  const selectors = {
    owner: ownerOf(params),
    tier: params.tier || undefined,
    where: params.where,
    ids: params.ids?.length ? params.ids : undefined,
  }
  return new Selection(selectors, shelf.partitions, shelf.records)
}

/** Throws `-32002` where the store has no tier of that name. */
export function requireTier({ tiers }: Shelf, tier: string): void {
  if (!tiers.some(({ name }) => name === tier)) {
    throw new A2mError('UNKNOWN_TIER', `no tier ${JSON.stringify(tier.slice(0, 80))} here`, {
      tiers: tiers.map(({ name }) => name),
    })
  }
}
