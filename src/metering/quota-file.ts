import Database from 'better-sqlite3'
import { messageOf } from '../protocol/errors.js'
import type { Span } from './quota-window.js'

/** One count as it is kept. */
export interface KeptCount {
  readonly id: string
  readonly span: Span
  readonly subject: string
  readonly used: number
  /** Whether somebody was told that it is warned. */
  readonly told: boolean
}

/** Keeps counts over a restart. */
export interface QuotaFile {
  /** What there is, of windows that are not over before `now`. */
  read(now: number): readonly KeptCount[]
  /** The latest time at which anything was counted, as far as windows tell it; 0 where nothing was. */
  since(): number
  /** In one step. Throws where it cannot be written. */
  keep(counts: readonly KeptCount[]): void
  /** Forgets some of the counts of windows that were over by then; returns whether there may be more. */
  forget(before: number): boolean
  close(): void
}

/** Counts forgotten at once, so that no call waits for longer than a millisecond or two. */
const FORGOTTEN = 500

const TABLE = `
  CREATE TABLE IF NOT EXISTS quota_counts (
    forget_at INTEGER NOT NULL, id TEXT NOT NULL, starts INTEGER NOT NULL, ends INTEGER NOT NULL,
    subject TEXT NOT NULL, used INTEGER NOT NULL, told INTEGER NOT NULL,
    PRIMARY KEY (forget_at, id, subject)
  ) WITHOUT ROWID;
`

/**
 * Opens the file, or makes it. A count is remembered for as long again as its window was, should the clock go back. Throws an
 * error that names the file where it cannot be used.
 */
export function openQuotaFile(path: string): QuotaFile {
  let database: Database.Database | undefined
  try {
    database = new Database(path, { timeout: 0 })
    database.pragma('journal_mode = WAL')
    database.pragma('synchronous = NORMAL')
    database.exec(TABLE)
    return fileOn(database)
  } catch (thrown) {
    database?.close()
    const why = messageOf(thrown)
    throw new Error(`cannot keep the counts of quotas in ${path}: ${why}`)
  }
}

interface Row {
  readonly id: string
  readonly starts: number
  readonly ends: number
  readonly subject: string
  readonly used: number
  readonly told: number
}

function fileOn(database: Database.Database): QuotaFile {
  const read = database.prepare<[number], Row>(
    'SELECT id, starts, ends, subject, used, told FROM quota_counts WHERE forget_at >= ? ORDER BY ends',
  )
  const since = database.prepare<[], number>('SELECT max(starts) FROM quota_counts').pluck()
  const keep = database.prepare(
    `INSERT INTO quota_counts (forget_at, id, starts, ends, subject, used, told) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET used = excluded.used, told = excluded.told`,
  )
  const forget = database.prepare(
    `DELETE FROM quota_counts WHERE (forget_at, id, subject) IN
     (SELECT forget_at, id, subject FROM quota_counts WHERE forget_at < ? LIMIT ${FORGOTTEN})`,
  )
  return {
    read: (now) => read.all(now).map(toCount),
    since: () => since.get() ?? 0,
    keep: database.transaction((counts: readonly KeptCount[]) => {
      for (const { id, span, subject, used, told } of counts) {
        const forgetAt = 2 * span.end - span.start
        keep.run(forgetAt, id, span.start, span.end, subject, used, told ? 1 : 0)
      }
    }),
    forget: (before) => forget.run(before).changes === FORGOTTEN,
    close: () => database.close(),
  }
}

function toCount({ id, starts, ends, subject, used, told }: Row): KeptCount {
  return { id, span: { start: starts, end: ends }, subject, used, told: told === 1 }
}
