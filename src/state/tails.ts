import type { Database } from 'better-sqlite3'
import type { Change } from '../events/changes.js'
import type { EventLog } from '../events/log.js'

/** What one reading of an upstream's events came to. */
export interface Passed {
  /** The upstream's cursor, behind what was read. */
  readonly cursor: string
  /** Names of our own writes that came by, once for each event. */
  readonly echoes: readonly string[]
  readonly changes: readonly Change[]
}

/** How far the events of upstreams have been read, and which of our own writes there will come by in them. */
export interface TailStore {
  cursor(upstream: string): string | undefined
  /** Told before what goes by these names is written there; `at` in ms since 1970. */
  expect(upstream: string, names: readonly string[], at: number): void
  /** It was not written after all. */
  unexpect(upstream: string, names: readonly string[]): void
  /** How many events of our own making are still to come by each of these names. */
  expected(upstream: string, names: readonly string[]): Map<string, number>
  /** Keeps the place, tells the changes and lets the echoes go, in one step. */
  pass(upstream: string, passed: Passed): void
  /** Gives the place up, so that reading begins anew. */
  forget(upstream: string): void
  /** Forgets what was expected before then and never came. */
  expire(upstream: string, before: number): void
}

export const TAIL_TABLES = `
  CREATE TABLE tails (upstream TEXT PRIMARY KEY, cursor TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE echoes (
    upstream TEXT NOT NULL, name TEXT NOT NULL, left INTEGER NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (upstream, name)
  ) WITHOUT ROWID;
`

export function createTails(database: Database, log: EventLog): TailStore {
  const cursor = database
    .prepare<[string], string>('SELECT cursor FROM tails WHERE upstream = ?')
    .pluck()
  const keep = database.prepare('INSERT OR REPLACE INTO tails (upstream, cursor) VALUES (?, ?)')
  const forget = database.prepare('DELETE FROM tails WHERE upstream = ?')
  const expire = database.prepare('DELETE FROM echoes WHERE upstream = ? AND at < ?')
  const { expect, unexpect, expected } = echoes(database)
  return {
    cursor: (upstream) => cursor.get(upstream),
    forget: (upstream) => void forget.run(upstream),
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
    `INSERT INTO echoes (upstream, name, left, at) VALUES (?, ?, 1, ?)
     ON CONFLICT DO UPDATE SET left = left + 1, at = excluded.at`,
  )
  const take = database.prepare('UPDATE echoes SET left = left - 1 WHERE upstream = ? AND name = ?')
  const drop = database.prepare('DELETE FROM echoes WHERE upstream = ? AND name = ? AND left < 1')
  const left = database
    .prepare<[string, string], number>('SELECT left FROM echoes WHERE upstream = ? AND name = ?')
    .pluck()
  return {
    expect: database.transaction((upstream: string, names: readonly string[], at: number) => {
      for (const name of names) add.run(upstream, name, at)
    }),
    unexpect: database.transaction((upstream: string, names: readonly string[]) => {
      for (const name of names) {
        take.run(upstream, name)
        drop.run(upstream, name)
      }
    }),
    expected: (upstream, names) =>
      new Map(names.map((name): [string, number] => [name, left.get(upstream, name) ?? 0])),
  }
}
