import type { Database, Statement } from 'better-sqlite3'
import { JsonText } from '../protocol/json.js'
import type { MemoryRecord } from '../protocol/records.js'
import { formatInstant } from '../protocol/time.js'
import type { Partition } from './partitions.js'

/** A record as the file holds it; `created_at` in ms since 1970, `length` in terms. */
export interface Row {
  readonly seq: number
  readonly id: string
  readonly ownerNo: number
  readonly partitionNo: number
  readonly created_at: number
  readonly length: number
  readonly group: string | null
  readonly role: string | null
  readonly content: string
  readonly metadata: string | null
}

/** A row that has not been written yet. */
export type NewRow = Omit<Row, 'seq'>

const COLUMNS =
  'seq, id, owner_no AS ownerNo, partition_no AS partitionNo, created_at, length, "group", role, content, metadata'
const SELECT = `SELECT ${COLUMNS} FROM records`
/** Beyond this many partitions one walk through all records by time beats the merge of their own orders. */
const MOST_MERGED = 32

/** The table of records. */
export class RecordsTable {
  readonly #db: Database
  readonly #insert: Statement<[NewRow]>
  readonly #exists: Statement<[string, number], number>
  readonly #byId: Statement<[string], Row>
  readonly #byOwnId: Statement<[string, number], Row>
  readonly #byGroup: Statement<[string], Row>
  readonly #byOwnGroup: Statement<[string, number], Row>
  readonly #bySeq: Statement<[number], Row>
  readonly #oldest: Statement<[number, number], Row>
  readonly #delete: Statement<[number]>
  readonly #move: Statement<[number, number]>

  constructor(db: Database) {
    this.#db = db
    this.#insert = db.prepare(
      `INSERT INTO records
         (id, owner_no, partition_no, created_at, length, "group", role, content, metadata)
       VALUES
         (@id, @ownerNo, @partitionNo, @created_at, @length, @group, @role, @content, @metadata)`,
    )
    this.#exists = db
      .prepare<[string, number], number>('SELECT seq FROM records WHERE id = ? AND owner_no = ?')
      .pluck()
    this.#byId = db.prepare(`${SELECT} WHERE id = ?`)
    this.#byOwnId = db.prepare(`${SELECT} WHERE id = ? AND owner_no = ?`)
    this.#byGroup = db.prepare(`${SELECT} WHERE "group" = ?`)
    this.#byOwnGroup = db.prepare(`${SELECT} WHERE "group" = ? AND owner_no = ?`)
    this.#bySeq = db.prepare(`${SELECT} WHERE seq = ?`)
    this.#oldest = db.prepare(`${SELECT} WHERE partition_no = ? ORDER BY created_at, seq LIMIT ?`)
    this.#delete = db.prepare('DELETE FROM records WHERE seq = ?')
    this.#move = db.prepare('UPDATE records SET partition_no = ? WHERE seq = ?')
  }

  /** Returns the number in the order of writing. */
  insert(row: NewRow): number {
    return Number(this.#insert.run(row).lastInsertRowid)
  }

  exists(id: string, ownerNo: number): boolean {
    return this.#exists.get(id, ownerNo) !== undefined
  }

  at(seq: number): Row | undefined {
    return this.#bySeq.get(seq)
  }

  /** One owner's record of that id, or every owner's. */
  withId(id: string, ownerNo: number | undefined): readonly Row[] {
    return ownerNo === undefined ? this.#byId.all(id) : this.#byOwnId.all(id, ownerNo)
  }

  /** The members of one owner's group, or of every owner's group of that name. */
  inGroup(group: string, ownerNo: number | undefined): readonly Row[] {
    return ownerNo === undefined ? this.#byGroup.all(group) : this.#byOwnGroup.all(group, ownerNo)
  }

  oldest(partitionNo: number, limit: number): readonly Row[] {
    return this.#oldest.all(partitionNo, limit)
  }

  /** Walks records from the newest on; nothing may be written before the walk ends. */
  newest(partitionNos: readonly number[]): Iterable<Row> {
    const order = 'ORDER BY created_at DESC, seq DESC'
    if (partitionNos.length > MOST_MERGED) {
      const marks = JSON.stringify(partitionNos)
      return this.#db
        .prepare<[string], Row>(
          `${SELECT} WHERE +partition_no IN (SELECT value FROM json_each(?)) ${order}`,
        )
        .iterate(marks)
    }
    if (partitionNos.length === 0) return []
    const branches = partitionNos.map(() => `${SELECT} WHERE partition_no = ?`)
    return this.#db
      .prepare<number[], Row>(`${branches.join(' UNION ALL ')} ${order}`)
      .iterate(...partitionNos)
  }

  delete(seq: number): void {
    this.#delete.run(seq)
  }

  move(seq: number, partitionNo: number): void {
    this.#move.run(partitionNo, seq)
  }
}

/** Newest first; of one instant the one written last. */
export function byAge(left: Row, right: Row): number {
  return right.created_at - left.created_at || right.seq - left.seq
}

/** The record as callers see it. */
export function toRecord(row: Row, { owner, tier }: Partition): MemoryRecord {
  const { id, content, created_at, role, group, metadata } = row
  return {
    id,
    content,
    created_at: formatInstant(created_at),
    ...(role === null ? {} : { role }),
    ...(metadata === null ? {} : { metadata: new JsonText(metadata) }),
    ...(group === null ? {} : { group }),
    tier,
    ...(owner === null ? {} : { owner }),
  }
}
