import type { Database, Statement } from 'better-sqlite3'
import type { Owner } from '../protocol/scope.js'

/** The records of one owner (null: of nobody) in one tier. `length` is the sum of their lengths in terms. */
export interface Partition {
  readonly no: number
  readonly ownerNo: number
  readonly owner: string | null
  readonly tier: string
  readonly records: number
  readonly length: number
}

type Size = Pick<Partition, 'records' | 'length'>

const COLUMNS = 'p.no, p.owner_no AS ownerNo, o.owner, p.tier, p.records, p.length'
const JOINED = `SELECT ${COLUMNS} FROM partitions p JOIN owners o ON o.no = p.owner_no`

/** Reads and keeps the table of partitions. Nothing is held in memory: other processes may write to the same file. */
export class Partitions {
  readonly #all: Statement<[], Partition>
  readonly #ofOwner: Statement<[string | null], Partition>
  readonly #ownerNo: Statement<[string | null], number>
  readonly #addOwner: Statement<[string | null]>
  readonly #partitionNo: Statement<[number, string], number>
  readonly #addPartition: Statement<[number, string]>
  readonly #grow: Statement<[number, number, number]>
  readonly #size: Statement<[number], Size>
  readonly #ownerName: Statement<[number], string | null>
  readonly #tierName: Statement<[number], string>

  constructor(db: Database) {
    this.#all = db.prepare(`${JOINED} ORDER BY p.no`)
    this.#ofOwner = db.prepare(`${JOINED} WHERE o.owner IS ? ORDER BY p.no`)
    this.#ownerNo = db
      .prepare<[string | null], number>('SELECT no FROM owners WHERE owner IS ?')
      .pluck()
    this.#addOwner = db.prepare('INSERT INTO owners (owner) VALUES (?)')
    this.#partitionNo = db
      .prepare<[number, string], number>(
        'SELECT no FROM partitions WHERE owner_no = ? AND tier = ?',
      )
      .pluck()
    this.#addPartition = db.prepare('INSERT INTO partitions (owner_no, tier) VALUES (?, ?)')
    this.#grow = db.prepare(
      'UPDATE partitions SET records = records + ?, length = length + ? WHERE no = ?',
    )
    this.#size = db.prepare('SELECT records, length FROM partitions WHERE no = ?')
    this.#ownerName = db
      .prepare<[number], string | null>('SELECT owner FROM owners WHERE no = ?')
      .pluck()
    this.#tierName = db
      .prepare<[number], string>('SELECT tier FROM partitions WHERE no = ?')
      .pluck()
  }

  /** One owner's, those of nobody (null), or all (undefined). */
  of(owner: Owner): readonly Partition[] {
    return owner === undefined ? this.#all.all() : this.#ofOwner.all(owner)
  }

  /** The number of an owner, given on first use. */
  ownerNo(owner: string | null): number {
    return this.#ownerNo.get(owner) ?? Number(this.#addOwner.run(owner).lastInsertRowid)
  }

  /** Null where the number is that of nobody. */
  ownerName(ownerNo: number): string | null {
    return this.#ownerName.get(ownerNo) ?? null
  }

  /** The tier of a partition that there is. */
  tierName(no: number): string | undefined {
    return this.#tierName.get(no)
  }

  /** The number of a partition, made on first use. */
  partitionNo(ownerNo: number, tier: string): number {
    return (
      this.#partitionNo.get(ownerNo, tier) ??
      Number(this.#addPartition.run(ownerNo, tier).lastInsertRowid)
    )
  }

  /** Counts one more record of that length in; returns the average length from now on. */
  admit(no: number, length: number): number {
    this.#grow.run(1, length, no)
    const size = this.#size.get(no)
    return size === undefined ? length : size.length / size.records
  }

  /** Counts one record of that length out. */
  dismiss(no: number, length: number): void {
    this.#grow.run(-1, -length, no)
  }
}
