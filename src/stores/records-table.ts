import type { Database, Statement as Prepared } from 'better-sqlite3'
import type { KeyRange } from '../protocol/key-prefix.js'
import type { NewRow, Row, Statement } from './rows.js'

const COLUMNS = `seq, id, owner_no AS ownerNo, partition_no AS partitionNo, created_at, length, "group", role, content,
  metadata, salience, accessed_at, access_count, session, key, revision, uri, media_type`
const SELECT = `SELECT ${COLUMNS} FROM records`
const NEWEST_FIRST = 'ORDER BY created_at DESC, seq DESC'
/** Beyond this many partitions one walk through all records by time beats the merge of their own orders. */
const MOST_MERGED = 32
/** Comes next after the slash that ends the beginning of all keys beneath a prefix. */
const AFTER_SLASH = '0'
/** SQLite's word for no limit. */
const NO_LIMIT = -1

/** The table of records. Nothing may be written while a walk through it goes on. */
export class RecordsTable {
  readonly #db: Database
  readonly #insert: Prepared<[NewRow]>
  readonly #restate: Prepared<[Statement & { readonly seq: number }]>
  readonly #exists: Prepared<[string, number], number>
  readonly #byId: Prepared<[string], Row>
  readonly #byOwnId: Prepared<[string, number], Row>
  readonly #byGroup: Prepared<[string], Row>
  readonly #byOwnGroup: Prepared<[string, number], Row>
  readonly #byKey: Prepared<[number, string], Row>
  readonly #beneath: Prepared<[number, string, string, number], Row>
  readonly #inSession: Prepared<[number, string, number], Row>
  readonly #bySeq: Prepared<[number], Row>
  readonly #delete: Prepared<[number]>
  readonly #move: Prepared<[number, number]>

  constructor(db: Database) {
    this.#db = db
    this.#insert = db.prepare(
      `INSERT INTO records
         (id, owner_no, partition_no, created_at, length, "group", role, content, metadata, salience, accessed_at,
          access_count, session, key, revision, uri, media_type)
       VALUES
         (@id, @ownerNo, @partitionNo, @created_at, @length, @group, @role, @content, @metadata, @salience, @accessed_at,
          @access_count, @session, @key, @revision, @uri, @media_type)`,
    )
    this.#restate = db.prepare(
      `UPDATE records SET
         length = @length, "group" = @group, role = @role, content = @content, metadata = @metadata,
         salience = coalesce(@salience, salience), session = @session, revision = @revision, uri = @uri,
         media_type = @media_type
       WHERE seq = @seq`,
    )
    this.#exists = db
      .prepare<[string, number], number>('SELECT seq FROM records WHERE id = ? AND owner_no = ?')
      .pluck()
    this.#byId = db.prepare(`${SELECT} WHERE id = ?`)
    this.#byOwnId = db.prepare(`${SELECT} WHERE id = ? AND owner_no = ?`)
    this.#byGroup = db.prepare(`${SELECT} WHERE "group" = ?`)
    this.#byOwnGroup = db.prepare(`${SELECT} WHERE "group" = ? AND owner_no = ?`)
    this.#byKey = db.prepare(`${SELECT} WHERE owner_no = ? AND key = ?`)
    this.#beneath = db.prepare(`${SELECT} WHERE owner_no = ? AND key >= ? AND key < ? LIMIT ?`)
    this.#inSession = db.prepare(
      `${SELECT} WHERE owner_no = ? AND session = ? ${NEWEST_FIRST} LIMIT ?`,
    )
    this.#bySeq = db.prepare(`${SELECT} WHERE seq = ?`)
    this.#delete = db.prepare('DELETE FROM records WHERE seq = ?')
    this.#move = db.prepare('UPDATE records SET partition_no = ? WHERE seq = ?')
  }

  /** Returns the number in the order of writing. */
  insert(row: NewRow): number {
    return Number(this.#insert.run(row).lastInsertRowid)
  }

  /** Writes over what was said of a record; its salience stays where none is named. */
  restate(seq: number, statement: Statement): void {
    this.#restate.run({ ...statement, seq })
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

  /** One owner's record at a key. */
  atKey(key: string, ownerNo: number): Row | undefined {
    return this.#byKey.get(ownerNo, key)
  }

  /** One owner's records whose keys are in a range, in no order that is promised, at most `limit`; it may be infinite. */
  inRange({ at, beneath }: KeyRange, ownerNo: number, limit: number): readonly Row[] {
    const end = `${at}${AFTER_SLASH}`
    const exact = this.#byKey.all(ownerNo, at)
    return [...exact, ...this.#beneath.all(ownerNo, beneath, end, bounded(limit))]
  }

  /** One owner's records of a session, newest first, at most `limit`; it may be infinite. */
  inSession(session: string, ownerNo: number, limit: number): readonly Row[] {
    return this.#inSession.all(ownerNo, session, bounded(limit))
  }

  /** Walks one owner's records of a session from the newest on. */
  walkSession(session: string, ownerNo: number): Iterable<Row> {
    return this.#inSession.iterate(ownerNo, session, NO_LIMIT)
  }

  /** Walks records from the newest on. */
  newest(partitionNos: readonly number[]): Iterable<Row> {
    if (partitionNos.length > MOST_MERGED) {
      const marks = JSON.stringify(partitionNos)
      return this.#db
        .prepare<[string], Row>(
          `${SELECT} WHERE +partition_no IN (SELECT value FROM json_each(?)) ${NEWEST_FIRST}`,
        )
        .iterate(marks)
    }
    if (partitionNos.length === 0) return []
    const branches = partitionNos.map(() => `${SELECT} WHERE partition_no = ?`)
    return this.#db
      .prepare<number[], Row>(`${branches.join(' UNION ALL ')} ${NEWEST_FIRST}`)
      .iterate(...partitionNos)
  }

  delete(seq: number): void {
    this.#delete.run(seq)
  }

  move(seq: number, partitionNo: number): void {
    this.#move.run(partitionNo, seq)
  }
}

function bounded(limit: number): number {
  return limit === Infinity ? NO_LIMIT : limit
}
