import Database from 'better-sqlite3'
import { EVENT_LOG_TABLES, type EventLogOptions } from '../events/log.js'
import { EVENT_PLACES_TABLE } from '../events/places.js'
import { type BackgroundStore, createBackgroundStore } from './backgrounds.js'
import { type ChangeBook, createChangeBook, INTENT_TABLES } from './book.js'
import { type CarriedRecords, createCarriedRecords } from './carried.js'
import { createJournal, type Journal } from './journal.js'
import { createProfileStore, type ProfileStore } from './profiles.js'
import { TAIL_TABLES } from './tails.js'
import { createWidthStore, WIDTH_TABLE, type WidthStore } from './width.js'

/** What a federation must not forget over a restart, in one SQLite file of its own. */
export interface State {
  readonly journal: Journal
  readonly carried: CarriedRecords
  readonly profiles: ProfileStore
  readonly backgrounds: BackgroundStore
  readonly width: WidthStore
  /** Once: intents of one file are ended by one book. */
  openBook(options: EventLogOptions): ChangeBook
  close(): void
}

export interface StateOptions {
  /** A file, made when absent, or `:memory:`. */
  readonly path: string
  /** `full` survives a loss of power, `normal` the death of any process. */
  readonly durability: 'normal' | 'full'
}

/** Each step takes the schema from its index to the next; a step is never changed once it has been released. */
const STEPS: readonly string[] = [
  `CREATE TABLE profiles (upstream TEXT PRIMARY KEY, profile TEXT NOT NULL) WITHOUT ROWID;
   CREATE TABLE writes (id TEXT PRIMARY KEY, parts TEXT NOT NULL) WITHOUT ROWID;
   CREATE TABLE moves (id TEXT PRIMARY KEY, move TEXT NOT NULL) WITHOUT ROWID;
   CREATE TABLE move_items (
     move TEXT NOT NULL, owner TEXT, id TEXT NOT NULL, forgotten INTEGER NOT NULL DEFAULT 0
   );
   CREATE INDEX move_items_by_id ON move_items (id);
   CREATE INDEX move_items_by_move ON move_items (move);
   CREATE TABLE carried (upstream TEXT NOT NULL, owner TEXT NOT NULL, id TEXT NOT NULL,
     PRIMARY KEY (upstream, owner, id)) WITHOUT ROWID;
   CREATE TABLE backgrounds (owner TEXT PRIMARY KEY, background BLOB NOT NULL, at INTEGER NOT NULL);`,
  // Without it, finding the oldest reads through every background.
  'CREATE INDEX backgrounds_by_at ON backgrounds (at, owner);',
  `${EVENT_LOG_TABLES} ${INTENT_TABLES} ${TAIL_TABLES}`,
  WIDTH_TABLE,
  EVENT_PLACES_TABLE,
]

/**
 * Opens the state, bringing an older file up to date, and keeps it from any other process: two that recover one journal would
 * undo each other's work. Throws one error that names the file where that cannot be done.
 */
export function openState(options: StateOptions): State {
  const database = open(options)
  return {
    journal: createJournal(database),
    carried: createCarriedRecords(database),
    profiles: createProfileStore(database),
    backgrounds: createBackgroundStore(database),
    width: createWidthStore(database),
    openBook: (options) => createChangeBook(database, options),
    close: () => database.close(),
  }
}

function open({ path, durability }: StateOptions): Database.Database {
  let database: Database.Database | undefined
  try {
    database = new Database(path, { timeout: 0 })
    database.pragma('locking_mode = EXCLUSIVE')
    database.pragma('journal_mode = WAL')
    database.pragma(`synchronous = ${durability === 'full' ? 'FULL' : 'NORMAL'}`)
    migrate(database)
    readThrough(database)
    return database
  } catch (thrown) {
    database?.close()
    throw new Error(`cannot open the gateway's state at ${path}: ${reason(thrown)}`)
  }
}

function migrate(database: Database.Database): void {
  const version = Number(database.pragma('user_version', { simple: true }))
  if (version > STEPS.length) throw new Error('it was written by a newer version')
  database.transaction(() => {
    for (const step of STEPS.slice(version)) database.exec(step)
    database.pragma(`user_version = ${STEPS.length}`)
  })()
}

/** What every start needs is read here once, so that a damaged file is found before anything else is opened. */
function readThrough(database: Database.Database): void {
  for (const table of ['profiles', 'writes', 'moves', 'move_items', 'event_log', 'intents']) {
    database.prepare(`SELECT * FROM ${table}`).all()
  }
}

const REASONS: readonly (readonly [code: RegExp, reason: string])[] = [
  [/^SQLITE_BUSY/, 'another gateway is using it; give each a data_dir of its own'],
  [/^SQLITE_(NOTADB|CORRUPT)/, 'it is damaged or no SQLite database; restore it'],
  [
    /^SQLITE_CANTOPEN/,
    'it cannot be opened; see that it is a file in a folder that may be written',
  ],
  [/^SQLITE_READONLY/, 'it cannot be written; check its permissions'],
  [/^SQLITE_FULL/, 'the disk is full'],
]

function reason(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown)
  const code = thrown instanceof Database.SqliteError ? thrown.code : ''
  return REASONS.find(([pattern]) => pattern.test(code))?.[1] ?? thrown.message
}
