import type { Tokenizer } from '../text/tokenizer.js'
import type { Partitions } from './partitions.js'
import type { Postings } from './postings.js'
import type { RecordsTable } from './records-table.js'
import type { NewRow, Row, Statement } from './rows.js'
import type { Vectors } from './vectors.js'

/** What has to be known of a record to take it out: without its text, since there may be very many. */
export type Place = Pick<Row, 'seq' | 'partitionNo' | 'length'>

/** What may be said of a record, but for what the writer works out. */
export type Said<S extends Statement> = Omit<S, 'length'> & {
  readonly embedding: readonly number[] | undefined
}

export interface WriterParts {
  readonly records: RecordsTable
  readonly postings: Postings
  readonly partitions: Partitions
  readonly vectors: Vectors
  readonly tokenizer: Tokenizer
}

/** Changes records, their postings, their vectors and the sizes of their partitions together; callers hold a transaction open. */
export class Writer {
  readonly #parts: WriterParts

  constructor(parts: WriterParts) {
    this.#parts = parts
  }

  add({ embedding, ...row }: Said<NewRow>): void {
    const { records, tokenizer, vectors } = this.#parts
    const terms = tokenizer.index(row.content)
    const seq = records.insert({ ...row, length: terms.length })
    this.#index(seq, terms, row.partitionNo)
    if (embedding !== undefined) vectors.set(seq, row.partitionNo, embedding)
  }

  /** Says all of a record anew, its vector too, where it stands. */
  restate(row: Place, { embedding, ...statement }: Said<Statement>): void {
    const { records, tokenizer, vectors } = this.#parts
    const { seq, partitionNo } = row
    const terms = tokenizer.index(statement.content)
    this.#unindex(row)
    records.restate(seq, { ...statement, length: terms.length })
    this.#index(seq, terms, partitionNo)
    if (embedding === undefined) vectors.remove(seq, partitionNo)
    else vectors.set(seq, partitionNo, embedding)
  }

  remove(row: Place): void {
    this.#parts.vectors.remove(row.seq, row.partitionNo)
    this.#parts.records.delete(row.seq)
    this.#unindex(row)
  }

  /** Takes a record to another tier of its owner. */
  move(row: Row, tier: string): void {
    const { partitions, records, tokenizer, vectors } = this.#parts
    const partitionNo = partitions.partitionNo(row.ownerNo, tier)
    this.#unindex(row)
    records.move(row.seq, partitionNo)
    vectors.move(row.seq, row.partitionNo, partitionNo)
    this.#index(row.seq, tokenizer.index(row.content), partitionNo)
  }

  #index(seq: number, terms: readonly string[], no: number): void {
    const averageLength = this.#parts.partitions.admit(no, terms.length)
    this.#parts.postings.add(seq, terms, { no, averageLength })
  }

  #unindex({ seq, partitionNo, length }: Place): void {
    this.#parts.postings.remove(seq)
    this.#parts.partitions.dismiss(partitionNo, length)
  }
}
