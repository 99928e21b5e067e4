import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite, { type Database } from 'better-sqlite3'

/** The folder of a spool, which belongs to one process at a time. Its lock goes with the process, however that ends. */
export interface Lane {
  /** Tells its events from those of other gateways, in a ledger that they share; the same in every run. */
  readonly id: string
  readonly folder: string
  /** The number of its first segment in this run; higher than any that has been, also of those that are gone. */
  readonly firstSegment: number
  close(): void
}

/** Segments that one run may make; more than one a second for thirty years. */
const SEGMENTS_A_RUN = 1_000_000_000

/** Takes a folder for this process. Throws where it cannot be made or written, or where another process has it. */
export function takeLane(folder: string, newId: () => string): Lane {
  if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 })
  const db = new Sqlite(join(folder, 'lane.db'), { timeout: 0 })
  try {
    return locked(db, folder, newId)
  } catch (thrown) {
    db.close()
    throw isBusy(thrown) ? new Error(`another process is using ${folder}`) : thrown
  }
}

/** In this mode the lock that the first write takes is kept until the file is closed. */
function locked(db: Database, folder: string, newId: () => string): Lane {
  db.pragma('locking_mode = EXCLUSIVE')
  const { id, runs } = db
    .transaction(() => {
      db.exec('CREATE TABLE IF NOT EXISTS lane (id TEXT NOT NULL, runs INTEGER NOT NULL)')
      db.prepare('INSERT INTO lane SELECT ?, 0 WHERE NOT EXISTS (SELECT 1 FROM lane)').run(newId())
      return db
        .prepare<[], { id: string; runs: number }>(
          'UPDATE lane SET runs = runs + 1 RETURNING id, runs',
        )
        .get()
    })
    .exclusive() ?? { id: newId(), runs: 1 }
  return { id, folder, firstSegment: runs * SEGMENTS_A_RUN, close: () => db.close() }
}

function isBusy(thrown: unknown): boolean {
  return (
    thrown instanceof Error && 'code' in thrown && /^SQLITE_(BUSY|LOCKED)/.test(`${thrown.code}`)
  )
}

/** One file of the spool: events as lines of JSON, in the order of their answers. */
export interface Segment {
  readonly number: number
  readonly path: string
  readonly bytes: number
}

export function segmentPath(folder: string, number: number): string {
  return join(folder, `${String(number).padStart(16, '0')}.jsonl`)
}

/** The segments in a folder, oldest first. */
export function segmentsIn(folder: string): readonly Segment[] {
  return readdirSync(folder)
    .filter((name) => /^\d{16}\.jsonl$/.test(name))
    .sort()
    .map((name) => {
      const path = join(folder, name)
      return { number: Number(name.slice(0, 16)), path, bytes: statSync(path).size }
    })
}
