import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import Sqlite, { type Database } from 'better-sqlite3'

/**
 * A folder of the spool that belongs to one process at a time. Its lock goes with the process, however that ends; a process that
 * finds it held takes the next.
 */
export interface Lane {
  /** Tells its events from those of other lanes, in a ledger that several gateways share. */
  readonly id: string
  readonly folder: string
  /** The number of its first segment in this run; higher than any that has been, also of those that are gone. */
  readonly firstSegment: number
  close(): void
}

const MOST_LANES = 64
/** Segments that one run may make; more than one a second for thirty years. */
const SEGMENTS_A_RUN = 1_000_000_000

/** Takes the first lane under `folder` that nobody holds. Throws the system's error where none can be had. */
export function takeLane(folder: string, newId: () => string): Lane {
  for (let number = 0; number < MOST_LANES; number++) {
    const lane = tryLane(join(folder, `${number}`), newId)
    if (lane !== undefined) return lane
  }
  throw new Error(`all ${MOST_LANES} spools under ${folder} are in use by other processes`)
}

/** Takes every lane that a process left with something in it; the others stay whose they are. */
export function takeAbandoned(folder: string, newId: () => string): readonly Lane[] {
  return readdirSync(folder)
    .filter((name) => /^\d{1,2}$/.test(name))
    .filter((name) => readdirSync(join(folder, name)).some(isSegment))
    .flatMap((name) => tryLane(join(folder, name), newId) ?? [])
}

function tryLane(folder: string, newId: () => string): Lane | undefined {
  ensureFolder(dirname(folder))
  ensureFolder(folder)
  const db = new Sqlite(join(folder, 'lane.db'), { timeout: 0 })
  try {
    return locked(db, folder, newId)
  } catch (thrown) {
    db.close()
    if (isBusy(thrown)) return undefined
    throw thrown
  }
}

/** One at a time: made recursively, folders of a file system that takes none would be waited for without end. */
function ensureFolder(path: string): void {
  if (!existsSync(path)) mkdirSync(path)
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

export function isSegment(name: string): boolean {
  return /^\d{16}\.jsonl$/.test(name)
}

export function segmentNumber(name: string): number {
  return Number(name.slice(0, 16))
}

/** What all lanes under a folder hold, in bytes. */
export function spooledBytes(folder: string): number {
  if (!existsSync(folder)) return 0
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => isSegment(basename(name)))
    .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
}
