import type { Database, Statement } from 'better-sqlite3'

/** What decides whether a record stays in its tier; instants in ms since 1970. */
export interface Standing {
  readonly seq: number
  readonly group: string | null
  readonly salience: number | null
  readonly created_at: number
  readonly accessed_at: number | null
}

/** The records of one partition that one capacity is for: all of them (undefined), one session's, or those of none (null). */
export type Bucket = string | null | undefined

const OLDEST_FIRST = 'ORDER BY created_at, seq'
/** SQLite's word for no limit. */
const NO_LIMIT = -1

/** Reads how the records of a partition stand, without their texts, since there may be very many. */
export class Standings {
  readonly #all: Statement<[number, number], Standing>
  readonly #ofSession: Statement<[number, string | null, number], Standing>
  readonly #count: Statement<[number], number>
  readonly #countOfSession: Statement<[number, string | null], number>
  readonly #sessions: Statement<[number, number], string | null>
  readonly #used: Statement<[number, number], number>

  constructor(db: Database) {
    const from = 'FROM records WHERE partition_no = ?'
    const select = `SELECT seq, "group", salience, created_at, accessed_at ${from}`
    this.#all = db.prepare(`${select} ${OLDEST_FIRST} LIMIT ?`)
    this.#ofSession = db.prepare(`${select} AND session IS ? ${OLDEST_FIRST} LIMIT ?`)
    this.#count = db.prepare<[number], number>(`SELECT count(*) ${from}`).pluck()
    this.#countOfSession = db
      .prepare<[number, string | null], number>(`SELECT count(*) ${from} AND session IS ?`)
      .pluck()
    this.#sessions = db
      .prepare<[number, number], string | null>(
        `SELECT session ${from} GROUP BY session HAVING count(*) > ?`,
      )
      .pluck()
    this.#used = db
      .prepare<[number, number], number>(`SELECT seq ${from} AND access_count >= ? ${OLDEST_FIRST}`)
      .pluck()
  }

  /** Oldest first, at most `limit`; it may be infinite. */
  of(partitionNo: number, bucket: Bucket, limit: number): readonly Standing[] {
    const most = limit === Infinity ? NO_LIMIT : limit
    return bucket === undefined
      ? this.#all.all(partitionNo, most)
      : this.#ofSession.all(partitionNo, bucket, most)
  }

  count(partitionNo: number, bucket: Bucket): number {
    const count =
      bucket === undefined
        ? this.#count.get(partitionNo)
        : this.#countOfSession.get(partitionNo, bucket)
    return count ?? 0
  }

  /** The sessions, null for none, that have more records in a partition than that. */
  sessionsOver(capacity: number, partitionNo: number): readonly (string | null)[] {
    return this.#sessions.all(partitionNo, capacity)
  }

  /** The rows that have been used so often, oldest first. */
  usedAtLeast(uses: number, partitionNo: number): readonly number[] {
    return this.#used.all(partitionNo, uses)
  }
}
