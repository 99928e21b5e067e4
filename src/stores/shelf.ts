import type { Database } from 'better-sqlite3'
import type { Change } from '../events/changes.js'
import { type EventLog, openEventLog, RETENTION } from '../events/log.js'
import { A2mError } from '../protocol/errors.js'
import type { Limits, ParamsOf } from '../protocol/methods.js'
import { ownerOf } from '../protocol/scope.js'
import type { Clock } from '../protocol/time.js'
import { Tokenizer } from '../text/tokenizer.js'
import type { Metric } from './metric.js'
import { type EventsOption, keepsEvents, type TierOption } from './options.js'
import { Partitions } from './partitions.js'
import { Postings } from './postings.js'
import { RecordsTable } from './records-table.js'
import { type Effort, Search } from './search.js'
import { Selection } from './selection.js'
import { SessionsTable } from './sessions-table.js'
import { Standings } from './standings.js'
import { Uses } from './uses.js'
import { VectorSpace } from './vector-space.js'
import { Vectors } from './vectors.js'
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
  readonly standings: Standings
  readonly sessions: SessionsTable
  readonly vectors: Vectors
  readonly uses: Uses
  readonly writer: Writer
  readonly search: Search
  readonly tokenizer: Tokenizer
  /** Absent where events are not declared. */
  readonly events: EventsOption | undefined
  readonly log: EventLog | undefined
  /** Puts a change into the log, if there is one; in the transaction of the change. */
  readonly tell: (change: () => Change) => void
}

/** What a store is set to, read from its options. */
export type Settings = Pick<Shelf, 'name' | 'tiers' | 'limits' | 'defaultLimit'> & {
  readonly metric?: Metric | undefined
  readonly events?: EventsOption | undefined
}

/** `effort` is how much a search reads, unless it is to be what serves well. */
export function openShelf(
  db: Database,
  { metric, events, ...settings }: Settings,
  services: Services & { readonly effort?: Effort },
): Shelf {
  const partitions = new Partitions(db)
  const records = new RecordsTable(db)
  const postings = new Postings(db)
  const tokenizer = new Tokenizer()
  const vectors = new Vectors(db, new VectorSpace(db, metric))
  const log = openLog(db, events, services)
  return {
    db,
    ...settings,
    ...services,
    partitions,
    records,
    standings: new Standings(db),
    sessions: new SessionsTable(db),
    vectors,
    uses: new Uses(db, services.clock),
    writer: new Writer({ records, postings, partitions, vectors, tokenizer }),
    search: new Search(postings, tokenizer, services.effort),
    tokenizer,
    events,
    log,
    tell: (change) => log?.append([change()]),
  }
}

function openLog(
  db: Database,
  events: EventsOption | undefined,
  { clock }: Services,
): EventLog | undefined {
  if (!keepsEvents(events)) return undefined
  return openEventLog(db, { ...RETENTION, keep: events.keep, now: () => clock.now() })
}

/** Selects by the params of a reading call or of forget; an empty tier or prefix is absent. */
export function select(
  shelf: Shelf,
  params: Partial<
    Pick<
      ParamsOf<'memory/forget'>,
      'ids' | 'tier' | 'where' | 'owner' | 'key_prefix' | 'a2m-gateway'
    >
  >,
): Selection {
  if (params.tier) requireTier(shelf, params.tier)
  const selectors = {
    owner: ownerOf(params),
    tier: params.tier || undefined,
    where: params.where,
    ids: params.ids?.length ? params.ids : undefined,
    keyPrefix: params.key_prefix || undefined,
  }
  return new Selection(selectors, shelf)
}

/** Throws `-32002` where the store has no tier of that name. */
export function requireTier({ tiers }: Shelf, tier: string): void {
  if (!tiers.some(({ name }) => name === tier)) {
    throw new A2mError('UNKNOWN_TIER', `no tier ${JSON.stringify(tier.slice(0, 80))} here`, {
      tiers: tiers.map(({ name }) => name),
    })
  }
}
