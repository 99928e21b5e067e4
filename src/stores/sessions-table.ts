import type { Database, Statement } from 'better-sqlite3'

/** What one tier of one owner holds of a session; instants in ms since 1970. */
export interface SessionPart {
  readonly session: string
  readonly tier: string
  readonly records: number
  /** The first and the last `created_at`. */
  readonly opened: number
  readonly touched: number
}

/** Reads which sessions there are. */
export class SessionsTable {
  readonly #all: Statement<[], SessionPart>
  readonly #ofOwner: Statement<[number], SessionPart>

  constructor(db: Database) {
    const select = (owners: string): string => `
      SELECT r.session, p.tier, count(*) AS records, min(r.created_at) AS opened, max(r.created_at) AS touched
      FROM records r JOIN partitions p ON p.no = r.partition_no
      WHERE r.session IS NOT NULL ${owners} GROUP BY r.session, r.partition_no`
    this.#all = db.prepare(select(''))
    this.#ofOwner = db.prepare(select('AND r.owner_no = ?'))
  }

  all(): readonly SessionPart[] {
    return this.#all.all()
  }

  of(ownerNo: number): readonly SessionPart[] {
    return this.#ofOwner.all(ownerNo)
  }
}
