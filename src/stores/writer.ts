import type { Tokenizer } from '../text/tokenizer.js'
import type { Partitions } from './partitions.js'
import type { Postings } from './postings.js'
import type { NewRow, RecordsTable, Row } from './records-table.js'

/** What has to be known of a record to take it out: without its text, since there may be very many. */
export type Place = Pick<Row, 'seq' | 'partitionNo' | 'length'>

/** Changes records, their postings and the sizes of their partitions together; callers hold a transaction open. */
export class Writer {
  readonly #records: RecordsTable
  readonly #postings: Postings
  readonly #partitions: Partitions
  readonly #tokenizer: Tokenizer

  constructor(
    records: RecordsTable,
    postings: Postings,
    partitions: Partitions,
    tokenizer: Tokenizer,
  ) {
    this.#records = records
    this.#postings = postings
    this.#partitions = partitions
    this.#tokenizer = tokenizer
  }

  add(row: Omit<NewRow, 'length'>): void {
    const terms = this.#tokenizer.index(row.content)
    const seq = this.#records.insert({ ...row, length: terms.length })
    this.#index(seq, terms, row.partitionNo)
  }

  remove(row: Place): void {
    this.#records.delete(row.seq)
    this.#unindex(row)
  }

  /** Takes a record to another tier of its owner. */
  move(row: Row, tier: string): void {
    const partitionNo = this.#partitions.partitionNo(row.ownerNo, tier)
    this.#unindex(row)
    this.#records.move(row.seq, partitionNo)
    this.#index(row.seq, this.#tokenizer.index(row.content), partitionNo)
  }

  #index(seq: number, terms: readonly string[], no: number): void {
    const averageLength = this.#partitions.admit(no, terms.length)
    this.#postings.add(seq, terms, { no, averageLength })
  }

  #unindex({ seq, partitionNo, length }: Place): void {
    this.#postings.remove(seq)
    this.#partitions.dismiss(partitionNo, length)
  }
}
