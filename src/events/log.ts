import type { Database } from 'better-sqlite3'
import type { Owner } from '../protocol/scope.js'
import { ownerKey } from '../protocol/scope.js'
import type { Change } from './changes.js'
import { type Cursor, printCursor, readCursor } from './cursor.js'
import { type LoggedEvent, pageOf, type Row } from './page.js'
import { createPlaceBook, type PlaceBook, printPlaces, type Sees } from './places.js'
import { type Draft, draftsOf } from './shares.js'

export type { LoggedEvent } from './page.js'

/*
 * How to use it, for a store as for a gateway:
 *   - add EVENT_LOG_TABLES as a migration step of the database;
 *   - `const log = openEventLog(database, { ...RETENTION, now: clock.now })` once the migrations have run;
 *   - in the transaction that makes a change: `log.append([{ kind: 'written', records }])` (see changes.ts for the kinds);
 *   - `memory/events` is `log.read({ ...params, owner: ownerOf(params) })`, in a transaction that may be read-only.
 * A forget or a promote of nothing may be appended and leaves no event. A consolidate is one event even where it moved nothing: give
 * a share of NOTHING_REORGANISED with the owner that the call was for.
 */

/**
 * A migration step. Each row is what one owner sees of one event (`owner` as `ownerKey` has it, `part` in JSON). Rows are numbered by
 * what they take of the bound; `position` is the number of the last row of their event. `floor` is that of the last row dropped.
 */
export const EVENT_LOG_TABLES = `
  CREATE TABLE event_log (id TEXT NOT NULL, head INTEGER NOT NULL, floor INTEGER NOT NULL);
  INSERT INTO event_log VALUES (lower(hex(randomblob(8))), 0, 0);
  CREATE TABLE events (
    seq INTEGER PRIMARY KEY, position INTEGER NOT NULL, at INTEGER NOT NULL,
    kind TEXT NOT NULL, owner TEXT NOT NULL, part TEXT NOT NULL
  );
  CREATE INDEX events_by_owner ON events (owner, position);
`

/** How long events are kept. One that concerns several owners, or is long (4 KiB), counts as several. */
export interface Retention {
  readonly keep: number
  /** In ms. Older ones go with the next event. */
  readonly maxAge: number
}

export const RETENTION: Retention = { keep: 10_000, maxAge: 7 * 24 * 3_600_000 }

export interface EventLogOptions extends Retention {
  /** Wall time in ms since 1970. */
  readonly now: () => number
  /** What becomes of where records are, in a database that has `EVENT_PLACES_TABLE`. */
  readonly places?: 'kept' | 'untold'
}

/** What is to be read; `owner` is whose events, undefined for everybody's. An empty list of kinds is an absent one. */
export interface EventQuery {
  readonly cursor?: string | undefined
  readonly limit?: number | undefined
  readonly kinds?: readonly string[] | undefined
  readonly owner: Owner
  /** For a reader to whom not every place is there: of what nobody can tell where it is, nothing is told. */
  readonly sees?: Sees | undefined
}

/** The result of `memory/events`; `more` and `reset` are there only where true. */
export interface EventPage {
  readonly events: LoggedEvent[]
  readonly cursor: string
  readonly more?: true
  readonly reset?: true
}

/** What has happened to records, in order, bounded, on disk. */
export interface EventLog {
  /** Must run in the transaction of the change itself, so that both are there or neither is. */
  append(changes: readonly Change[]): void
  /** Throws `-32602` for a cursor that no log can have given. Without one: no events, and the current cursor. */
  read(query: EventQuery): EventPage
  /** The place behind the newest event. */
  head(): string
}

const DEFAULT_LIMIT = 100
const MOST_EVENTS = 1000
/** What a row may take of the disk for each one that it counts as. */
const CHARACTERS_A_ROW = 4096

interface Meta {
  readonly id: string
  readonly head: number
  readonly floor: number
}

/** Opens the log in a database that has `EVENT_LOG_TABLES`. */
export function openEventLog(database: Database, options: EventLogOptions): EventLog {
  const statements = prepare(database, options)
  return {
    append: (changes) =>
      append(database, statements, { drafts: changes.flatMap(draftsOf), options }),
    read: (query) => read(statements, query),
    head: () => {
      const { id, head } = metaOf(statements)
      return printCursor({ log: id, position: head })
    },
  }
}

type Statements = ReturnType<typeof prepare>

function prepare(database: Database, { places }: EventLogOptions) {
  const columns = 'SELECT seq, position, at, kind, part FROM events'
  const ofKind = '(@kinds IS NULL OR kind IN (SELECT value FROM json_each(@kinds)))'
  type Bounds = { readonly after: number; readonly kinds: string | null; readonly owner: string }
  const book: PlaceBook | undefined = places && createPlaceBook(database)
  return {
    places: book,
    keep: places === 'kept' ? book?.keep : undefined,
    meta: database.prepare<[], Meta>('SELECT id, head, floor FROM event_log'),
    advance: database.prepare<[number]>('UPDATE event_log SET head = ?'),
    raise: database.prepare<[number]>('UPDATE event_log SET floor = ?'),
    insert: database.prepare<[number, number, number, string, string, string]>(
      'INSERT INTO events (seq, position, at, kind, owner, part) VALUES (?, ?, ?, ?, ?, ?)',
    ),
    young: database
      .prepare<[number], number>('SELECT seq FROM events WHERE at >= ? ORDER BY seq LIMIT 1')
      .pluck(),
    dropped: database
      .prepare<{ cut: number }, number | null>(
        'SELECT max(position) FROM events WHERE seq <= @cut AND position <= @cut',
      )
      .pluck(),
    drop: database.prepare<[number]>('DELETE FROM events WHERE seq <= ?'),
    ofAll: database.prepare<[Bounds], Row>(
      `${columns} WHERE seq > @after AND ${ofKind} ORDER BY seq`,
    ),
    ofOwner: database.prepare<[Bounds], Row>(
      `${columns} WHERE owner = @owner AND position > @after AND ${ofKind} ORDER BY position`,
    ),
  }
}

function metaOf({ meta }: Statements): Meta {
  const found = meta.get()
  if (found === undefined) throw new Error('the event log has lost its head; restore the database')
  return found
}

interface Appending {
  readonly drafts: readonly Draft[]
  readonly options: EventLogOptions
}

function append(database: Database, statements: Statements, { drafts, options }: Appending): void {
  if (drafts.length === 0) return
  if (!database.inTransaction) throw new TypeError('events are appended in a transaction')
  const at = Math.floor(options.now())
  const { head: start, floor } = metaOf(statements)
  let head = start
  for (const draft of drafts) head = insert(statements, draft, { head, at })
  statements.advance.run(head)
  trim(statements, { head, floor, at, ...options })
}

/** Writes the rows of one event; returns the number of the last. */
function insert(
  { insert, keep }: Statements,
  { kind, shares }: Draft,
  { head, at }: { readonly head: number; readonly at: number },
): number {
  const rows = shares.map(({ owner, part, places }) => ({
    owner: ownerKey(owner),
    text: JSON.stringify(part),
    where: keep && places && printPlaces(places),
  }))
  const position = rows.reduce((sum, row) => sum + weight(row), head)
  let seq = head
  for (const row of rows) {
    seq += weight(row)
    insert.run(seq, position, at, kind, row.owner, row.text)
    if (row.where !== undefined) keep?.(seq, row.where)
  }
  return position
}

function weight({ text, where = '' }: { text: string; where?: string | undefined }): number {
  return 1 + Math.floor((text.length + where.length) / CHARACTERS_A_ROW)
}

interface Bound extends Retention {
  readonly head: number
  readonly floor: number
  readonly at: number
}

/** Drops whole events from the oldest on, a hundredth of the bound at once; the newest always stays. */
function trim(statements: Statements, { head, floor: before, at, keep, maxAge }: Bound): void {
  const young = statements.young.get(at - maxAge) ?? head
  const surplus = head - keep - before > keep / 100 ? head - keep : 0
  const cut = Math.max(young - 1, surplus)
  if (cut <= before) return
  const floor = statements.dropped.get({ cut }) ?? null
  if (floor === null) return
  statements.drop.run(floor)
  statements.places?.drop(floor)
  statements.raise.run(floor)
}

function read(statements: Statements, query: EventQuery): EventPage {
  const { id, head, floor } = metaOf(statements)
  if (query.cursor === undefined)
    return { events: [], cursor: printCursor({ log: id, position: head }) }
  const { log, position } = readCursor(query.cursor)
  const known = log === id && position >= floor && position <= head
  const start: Cursor = { log: id, position: known ? position : floor }
  const { events, last } = pageAfter(statements, start, query)
  const cursor = printCursor({ log: id, position: last ?? head })
  return {
    events,
    cursor,
    ...(last === undefined ? {} : { more: true }),
    ...(known ? {} : { reset: true }),
  }
}

/** Events behind a place; `last` is where the page ends when there are more. */
function pageAfter(
  statements: Statements,
  { position }: Cursor,
  { kinds, owner, limit, sees }: EventQuery,
): ReturnType<typeof pageOf> {
  const most = Math.min(limit || (limit === 0 ? MOST_EVENTS : DEFAULT_LIMIT), MOST_EVENTS)
  const filter = kinds?.length ? JSON.stringify(kinds) : null
  const bounds = { after: position, kinds: filter, owner: ownerKey(owner) }
  const rows = (owner === undefined ? statements.ofAll : statements.ofOwner).iterate(bounds)
  return pageOf(rows, { position, most, sees, places: statements.places })
}
