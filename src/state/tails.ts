import type { Database } from 'better-sqlite3'
import type { Change } from '../events/changes.js'
import type { EventLog } from '../events/log.js'

/** What one reading of an upstream's events came to. */
export interface Passed {
  /** The upstream's cursor, behind what was read. */
  readonly cursor: string
  /** Ids at the upstream of our own writes that came by, once for each event. */
  readonly echoes: readonly string[]
  readonly changes: readonly Change[]
}

/** How far the events of upstreams have been read, and which of our own writes there will come by in them. */
export interface TailStore {
  cursor(upstream: string): string | undefined
  /** Told before these records are written there; `at` in ms since 1970. */
  expect(upstream: string, ids: readonly string[], at: number): void
  /** They were not written after all. */
  unexpect(upstream: string, ids: readonly string[]): void
  /** How many events of our own making are still to come for each of these ids; none for others. */
  expected(upstream: string, ids: readonly string[]): Map<string, number>
  /** Keeps the place, tells the changes and lets the echoes go, in one step. */
  pass(upstream: string, passed: Passed): void
  /** Forgets what was expected before then and never came. */
  expire(upstream: string, before: number): void
}

export const TAIL_TABLES = `
  CREATE TABLE tails (upstream TEXT PRIMARY KEY, cursor TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE echoes (
    upstream TEXT NOT NULL, id TEXT NOT NULL, left INTEGER NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (upstream, id)
  ) WITHOUT ROWID;
`

export function createTails(database: Database, log: EventLog): TailStore {
  const cursor = database
    .prepare<[string], string>('SELECT cursor FROM tails WHERE upstream = ?')
    .pluck()
  const keep = database.prepare('INSERT OR REPLACE INTO tails (upstream, cursor) VALUES (?, ?)')
  const expire = database.prepare('DELETE FROM echoes WHERE upstream = ? AND at < ?')
  const { expect, unexpect, expected } = echoes(database)
  return {
    cursor: (upstream) => cursor.get(upstream),
    expect,
    unexpect,
    expected,
    pass: database.transaction((upstream: string, passed: Passed) => {
      keep.run(upstream, passed.cursor)
      unexpect(upstream, passed.echoes)
      log.append(passed.changes)
    }),
    expire: (upstream, before) => void expire.run(upstream, before),
  }
}

function echoes(database: Database): Pick<TailStore, 'expect' | 'unexpect' | 'expected'> {
  const add = database.prepare(
    `INSERT INTO echoes (upstream, id, left, at) VALUES (?, ?, 1, ?)
     ON CONFLICT DO UPDATE SET left = left + 1, at = excluded.at`,
  )
  const take = database.prepare('UPDATE echoes SET left = left - 1 WHERE upstream = ? AND id = ?')
  const drop = database.prepare('DELETE FROM echoes WHERE upstream = ? AND id = ? AND left < 1')
  const left = database
    .prepare<[string, string], number>('SELECT left FROM echoes WHERE upstream = ? AND id = ?')
    .pluck()
  return {
    expect: database.transaction((upstream: string, ids: readonly string[], at: number) => {
      for (const id of ids) add.run(upstream, id, at)
    }),
    unexpect: database.transaction((upstream: string, ids: readonly string[]) => {
      for (const id of ids) {
        take.run(upstream, id)
        drop.run(upstream, id)
      }
    }),
    expected: (upstream, ids) =>
      new Map(ids.map((id): [string, number] => [id, left.get(upstream, id) ?? 0])),
  }
}
