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
  /** Whether it is still where it was taken; it is not when somebody has removed the folder. */
  isThere(): boolean
  close(): void
}

/** The lane of one process, taken when it is first asked for, and anew where it was removed: as the same lane, but for its segments' numbers. */
export class OwnLane {
  readonly #folder: string
  #newId: () => string
  #lane: Lane | undefined

  constructor(folder: string, newId: () => string) {
    this.#folder = folder
    this.#newId = newId
  }

  /** Throws where it cannot be had. */
  take(): Lane {
    if (this.#lane?.isThere()) return this.#lane
    const before = this.#lane
    this.#lane = takeLane(this.#folder, this.#newId, before?.firstSegment)
    before?.close()
    const { id } = this.#lane
    this.#newId = () => id
    return this.#lane
  }

  close(): void {
    this.#lane?.close()
  }
}

/** Segments that one run may make; more than one a second for thirty years. */
const SEGMENTS_A_RUN = 1_000_000_000

const FILE = 'lane.db'

/**
 * Takes a folder for this process. Throws where it cannot be made or written, or where another process has it. In a folder that is
 * new, segments begin after the run that had `lastSegment` as its first.
 */
export function takeLane(folder: string, newId: () => string, lastSegment = 0): Lane {
  if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 })
  const db = new Sqlite(join(folder, FILE), { timeout: 0 })
  try {
    return locked(db, folder, { newId, lastRun: lastSegment / SEGMENTS_A_RUN })
  } catch (thrown) {
    db.close()
    throw isBusy(thrown) ? new Error(`another process is using ${folder}`) : thrown
  }
}

/** What is written down in a folder that is new. */
interface Beginning {
  readonly newId: () => string
  readonly lastRun: number
}

/** In this mode the lock that the first write takes is kept until the file is closed. */
function locked(db: Database, folder: string, { newId, lastRun }: Beginning): Lane {
  db.pragma('locking_mode = EXCLUSIVE')
  const { id, runs } = db
    .transaction(() => {
      db.exec('CREATE TABLE IF NOT EXISTS lane (id TEXT NOT NULL, runs INTEGER NOT NULL)')
      db.prepare('INSERT INTO lane SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM lane)').run(
        newId(),
        lastRun,
      )
      return db
        .prepare<[], { id: string; runs: number }>(
          'UPDATE lane SET runs = runs + 1 RETURNING id, runs',
        )
        .get()
    })
    .exclusive() ?? { id: newId(), runs: lastRun + 1 }
  const inode = inodeOf(folder)
  const isThere = () => inodeOf(folder) === inode
  return { id, folder, firstSegment: runs * SEGMENTS_A_RUN, isThere, close: () => db.close() }
}

function inodeOf(folder: string): bigint | undefined {
  return statSync(join(folder, FILE), { bigint: true, throwIfNoEntry: false })?.ino
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
