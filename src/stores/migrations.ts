import type { Database } from 'better-sqlite3'
import { EVENT_LOG_TABLES } from '../events/log.js'

/** One step from a schema version to the next; it runs inside a transaction. */
export type Migration = (db: Database) => void

/** Marks the file as one of ours (`application_id`): "A2MS" in ASCII. */
export const APPLICATION_ID = 0x41324d53

/**
 * Every step there has been, oldest first; the schema version (`user_version`) of a file is how many it has taken. A step
 * that has been released is never changed.
 *
 * A partition holds the records of one owner in one tier, with their number and the sum of their lengths in terms. `terms`
 * is the search index (see `postings.ts`), `term_counts` a view of it; `seq` is the order of writing and the row of a record there.
 * Vectors have a table of their own, since a row that holds one is slow to read past and to count a use in; `embedding` of
 * `records` stays empty.
 */
export const MIGRATIONS: readonly Migration[] = [
  (db) =>
    db.exec(`
      CREATE TABLE owners (no INTEGER PRIMARY KEY, owner TEXT UNIQUE) STRICT;
      CREATE TABLE partitions (
        no INTEGER PRIMARY KEY,
        owner_no INTEGER NOT NULL REFERENCES owners,
        tier TEXT NOT NULL,
        records INTEGER NOT NULL DEFAULT 0,
        length INTEGER NOT NULL DEFAULT 0,
        UNIQUE (owner_no, tier)
      ) STRICT;
      CREATE TABLE records (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL,
        owner_no INTEGER NOT NULL REFERENCES owners,
        partition_no INTEGER NOT NULL REFERENCES partitions,
        created_at REAL NOT NULL,
        length INTEGER NOT NULL,
        "group" TEXT,
        role TEXT,
        content TEXT NOT NULL,
        metadata TEXT,
        salience REAL,
        accessed_at REAL,
        access_count INTEGER,
        session TEXT,
        key TEXT,
        revision INTEGER,
        embedding BLOB,
        uri TEXT,
        media_type TEXT,
        UNIQUE (id, owner_no)
      ) STRICT;
      CREATE INDEX records_by_partition ON records (partition_no, created_at);
      CREATE INDEX records_by_time ON records (created_at);
      CREATE INDEX records_by_group ON records ("group", owner_no) WHERE "group" IS NOT NULL;
      CREATE VIRTUAL TABLE terms USING fts5(
        tokens, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '|'"
      );
      CREATE VIRTUAL TABLE term_counts USING fts5vocab(terms, row);
    `),
  (db) =>
    db.exec(`
      CREATE UNIQUE INDEX records_by_key ON records (owner_no, key) WHERE key IS NOT NULL;
      CREATE INDEX records_by_session ON records (owner_no, session, created_at, partition_no)
        WHERE session IS NOT NULL;
      CREATE TABLE vectors (
        seq INTEGER PRIMARY KEY REFERENCES records,
        partition_no INTEGER NOT NULL REFERENCES partitions,
        embedding BLOB NOT NULL
      ) STRICT;
      CREATE INDEX vectors_by_partition ON vectors (partition_no);
      CREATE TABLE vector_space (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        dimensions INTEGER,
        metric TEXT
      ) STRICT;
      INSERT INTO vector_space (one) VALUES (1);
    `),
  (db) => db.exec(EVENT_LOG_TABLES),
]

/** Takes the steps that a file lacks, each with its version in one transaction. */
export function migrate(db: Database, migrations: readonly Migration[]): void {
  for (let version = schemaVersion(db); version < migrations.length; version++) {
    db.transaction(() => {
      migrations[version]?.(db)
      db.pragma(`user_version = ${version + 1}`)
    }).immediate()
  }
}

/** How many migrations a file has taken. */
export function schemaVersion(db: Database): number {
  return Number(db.pragma('user_version', { simple: true }))
}
