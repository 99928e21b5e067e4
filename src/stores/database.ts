import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import Sqlite, { type Database } from 'better-sqlite3'
import { APPLICATION_ID, MIGRATIONS, type Migration, migrate, schemaVersion } from './migrations.js'
import type { StoreOptions } from './options.js'

/** A database file that cannot be used; the message names the file and says what to do, and is for the operator alone. */
export class UnusableFile extends Error {
  constructor(path: string, reason: string) {
    super(`cannot use ${path} as a store: ${reason}`)
    this.name = 'UnusableFile'
  }
}

/** Opens a store's file, made or brought to the newest schema where it may be written. Throws an `UnusableFile`. */
export function openDatabase(
  options: StoreOptions,
  migrations: readonly Migration[] = MIGRATIONS,
): Database {
  let db: Database | undefined
  try {
    db = options.access === 'read-only' ? openToRead(options.path) : openToWrite(options)
    checkKind(db, options.path, migrations.length)
    if (options.access === 'read-only') requireNewest(db, options.path, migrations.length)
    else prepare(db, options, migrations)
    return db
  } catch (thrown) {
    db?.close()
    throw asUnusable(options.path, thrown)
  }
}

/** What SQLite or the system threw about a file, as an `UnusableFile`. */
export function asUnusable(path: string, thrown: unknown): UnusableFile {
  return thrown instanceof UnusableFile ? thrown : new UnusableFile(path, explain(thrown))
}

function openToRead(path: string): Database {
  return new Sqlite(path, { readonly: true, fileMustExist: true })
}

function openToWrite({ path }: StoreOptions): Database {
  if (path !== ':memory:') mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  return new Sqlite(path)
}

function checkKind(db: Database, path: string, newest: number): void {
  const version = schemaVersion(db)
  const tables = db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get()
  const id = db.pragma('application_id', { simple: true })
  if (id !== APPLICATION_ID && (version !== 0 || tables !== 0)) {
    throw new UnusableFile(path, 'it is the database of another program')
  }
  if (version > newest) {
    throw new UnusableFile(
      path,
      `its schema version is ${version}, this program knows ${newest}; use a newer release`,
    )
  }
}

function requireNewest(db: Database, path: string, newest: number): void {
  const version = schemaVersion(db)
  if (version < newest) {
    throw new UnusableFile(
      path,
      `its schema version is ${version} of ${newest}; open it once for writing to bring it up to date`,
    )
  }
}

/** The locked transaction finds out at once whether the file can be written at all. */
function prepare(db: Database, options: StoreOptions, migrations: readonly Migration[]): void {
  db.pragma('journal_mode = WAL')
  db.pragma(`synchronous = ${options.durability === 'full' ? 'FULL' : 'NORMAL'}`)
  db.pragma('cache_size = -65536')
  db.transaction(() => db.pragma(`application_id = ${APPLICATION_ID}`)).immediate()
  migrate(db, migrations)
}

/** By SQLite's primary result codes, which better-sqlite3 gives as names. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^SQLITE_(NOTADB|CORRUPT)/, 'the file is damaged or no SQLite database; restore it'],
  [/^SQLITE_READONLY|^E(ACCES|PERM|ROFS)$/, 'it cannot be written; check its permissions'],
  [
    /^SQLITE_CANTOPEN|^E(NOTDIR|ISDIR|EXIST|NOENT)$/,
    'it cannot be opened; check that the path names a file in a directory that may be written',
  ],
  [/^SQLITE_(BUSY|LOCKED)/, 'another process holds it locked'],
  [/^SQLITE_FULL|^ENOSPC$/, 'the disk is full'],
]

function explain(thrown: unknown): string {
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : ''
  const known = REASONS.find(([pattern]) => pattern.test(code))
  if (known !== undefined) return known[1]
  return thrown instanceof Error ? thrown.message : 'it cannot be opened'
}
