import type { Database } from 'better-sqlite3'
import { CALL_SUMS, UPSTREAM_SUMS } from './rollups.js'

/** Marks the file as a ledger of ours (`application_id`): "A2MU" in ASCII. */
const APPLICATION_ID = 0x41324d55

const KEYS = 'hour, caller, owner, method, version, outcome, tiers'
const KEY_COLUMNS = `
  hour INTEGER NOT NULL, caller TEXT NOT NULL, owner TEXT NOT NULL, method TEXT NOT NULL,
  version TEXT NOT NULL, outcome TEXT NOT NULL, tiers TEXT NOT NULL`

/**
 * Every step there has been, oldest first; the schema version (`user_version`) of a file is how many it has taken. A step that has been
 * released is never changed. Columns are spelt out here, and not taken from what the code knows today.
 */
const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE usage_events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, lane TEXT NOT NULL,
    at INTEGER NOT NULL, event TEXT NOT NULL
  ) STRICT;
  CREATE INDEX usage_events_by_time ON usage_events (at);
  CREATE INDEX usage_events_by_lane ON usage_events (lane, seq);
  CREATE TABLE usage_lanes (
    lane TEXT PRIMARY KEY, segment INTEGER NOT NULL, position INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE usage_calls (${KEY_COLUMNS},
    calls INTEGER NOT NULL, records_in INTEGER NOT NULL, records_out INTEGER NOT NULL,
    characters_in INTEGER NOT NULL, characters_out INTEGER NOT NULL, vectors_in INTEGER NOT NULL,
    vectors_out INTEGER NOT NULL, tokens INTEGER NOT NULL, bytes_in INTEGER NOT NULL,
    bytes_out INTEGER NOT NULL, ms REAL NOT NULL, attempts INTEGER NOT NULL,
    PRIMARY KEY (${KEYS})
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE usage_upstreams (${KEY_COLUMNS}, upstream TEXT NOT NULL,
    calls INTEGER NOT NULL, asks INTEGER NOT NULL, attempts INTEGER NOT NULL,
    failures INTEGER NOT NULL, refusals INTEGER NOT NULL, skipped INTEGER NOT NULL,
    records INTEGER NOT NULL, ms REAL NOT NULL,
    PRIMARY KEY (${KEYS}, upstream)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE usage_sinks (
    lane TEXT NOT NULL, sink TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (lane, sink)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE usage_stock (
    source TEXT NOT NULL, owner TEXT NOT NULL, tier TEXT NOT NULL, records INTEGER NOT NULL,
    characters INTEGER NOT NULL, since REAL NOT NULL, PRIMARY KEY (source, owner, tier)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE usage_stock_days (
    source TEXT NOT NULL, owner TEXT NOT NULL, tier TEXT NOT NULL, day INTEGER NOT NULL,
    hours REAL NOT NULL, PRIMARY KEY (source, owner, tier, day)
  ) STRICT, WITHOUT ROWID;
  `,
]

/** Brings a file to the newest schema. Throws an Error that says what to do where it is not a ledger, or one of a newer release. */
export function prepareLedger(db: Database): void {
  checkKind(db)
  db.pragma(`application_id = ${APPLICATION_ID}`)
  for (let version = versionOf(db); version < MIGRATIONS.length; version++) {
    db.transaction(() => {
      if (versionOf(db) !== version) return
      db.exec(MIGRATIONS[version] ?? '')
      db.pragma(`user_version = ${version + 1}`)
    }).immediate()
  }
}

/** The same for a file that is only read: it must be of this release. */
export function checkLedger(db: Database): void {
  checkKind(db)
  if (versionOf(db) < MIGRATIONS.length) {
    throw new Error('it is of an older release; serve with it once to bring it up to date')
  }
}

function checkKind(db: Database): void {
  const tables = db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get()
  const ours = db.pragma('application_id', { simple: true }) === APPLICATION_ID
  if (!ours && tables !== 0) throw new Error('it is the database of another program')
  if (versionOf(db) > MIGRATIONS.length) {
    throw new Error('it is of a newer release; use that, or move the file away')
  }
}

function versionOf(db: Database): number {
  return Number(db.pragma('user_version', { simple: true }))
}

/** `INSERT` that adds its sums to what stands under the same key. */
export function adding(table: 'usage_calls' | 'usage_upstreams'): string {
  const [keys, sums] =
    table === 'usage_calls' ? [KEYS, CALL_SUMS] : [`${KEYS}, upstream`, UPSTREAM_SUMS]
  const columns = [...keys.split(', '), ...sums]
  const updates = sums.map((name) => `${name} = ${table}.${name} + excluded.${name}`)
  return `INSERT INTO ${table} (${columns.join(', ')})
    VALUES (${columns.map((name) => `@${name}`).join(', ')})
    ON CONFLICT (${keys}) DO UPDATE SET ${updates.join(', ')}`
}
