import type { Database, Statement } from 'better-sqlite3'
import { COMPARISONS, type Comparison } from './metric.js'
import { VectorBlock } from './vector-block.js'
import type { VectorSpace } from './vector-space.js'

/** What the vectors in memory may take in one store, in bytes: some 40,000 of 768 numbers. */
const MOST_BYTES = 256 * 1024 * 1024
const BYTES_PER_NUMBER = 8

interface Stored {
  readonly seq: number
  readonly embedding: Buffer
}

/**
 * The vectors of records, as they were given, in doubles. Those of a partition that was searched stay in memory, up to a bound, and
 * follow every change; a partition that is too large for that is read anew for each search.
 */
export class Vectors {
  readonly space: VectorSpace
  readonly comparison: Comparison
  readonly #mostBytes: number
  /** The one that was used last at the end. */
  readonly #blocks = new Map<number, VectorBlock>()
  #bytes = 0
  #version: number | undefined
  #changed = false
  readonly #put: Statement<[number, number, Buffer]>
  readonly #delete: Statement<[number]>
  readonly #move: Statement<[number, number]>
  readonly #get: Statement<[number], Buffer>
  readonly #of: Statement<[number], Stored>
  readonly #count: Statement<[number], number>
  readonly #dataVersion: Statement<[], number>

  constructor(db: Database, space: VectorSpace, mostBytes = MOST_BYTES) {
    this.space = space
    this.comparison = COMPARISONS[space.metric]
    this.#mostBytes = mostBytes
    this.#put = db.prepare(
      'INSERT OR REPLACE INTO vectors (seq, partition_no, embedding) VALUES (?, ?, ?)',
    )
    this.#delete = db.prepare('DELETE FROM vectors WHERE seq = ?')
    this.#move = db.prepare('UPDATE vectors SET partition_no = ? WHERE seq = ?')
    this.#get = db.prepare<[number], Buffer>('SELECT embedding FROM vectors WHERE seq = ?').pluck()
    this.#of = db.prepare('SELECT seq, embedding FROM vectors WHERE partition_no = ?')
    this.#count = db
      .prepare<[number], number>('SELECT count(*) FROM vectors WHERE partition_no = ?')
      .pluck()
    this.#dataVersion = db.prepare<[], number>('PRAGMA data_version').pluck()
  }

  /** A record's vector from now on. */
  set(seq: number, partitionNo: number, vector: readonly number[]): void {
    this.space.fix(vector.length)
    this.#put.run(seq, partitionNo, toBytes(vector))
    this.#change(partitionNo, (block) => block.set(seq, vector))
  }

  remove(seq: number, partitionNo: number): void {
    if (this.#delete.run(seq).changes === 0) return
    this.#change(partitionNo, (block) => block.delete(seq))
  }

  move(seq: number, from: number, to: number): void {
    if (this.#move.run(to, seq).changes === 0) return
    this.#change(from, (block) => block.delete(seq))
    this.#change(to, (block) => block.set(seq, this.of(seq) ?? []))
  }

  /** A record's vector to the bit; undefined where it has none. */
  of(seq: number): readonly number[] | undefined {
    const bytes = this.#get.get(seq)
    return bytes && Array.from(toNumbers(bytes))
  }

  /** How similar a record's vector is to a prepared query; undefined where it has none. */
  similarity(query: Float64Array, seq: number): number | undefined {
    const bytes = this.#get.get(seq)
    return bytes && this.compare(query, toNumbers(bytes))
  }

  /** Tells the rows of a partition that have a vector, and how similar each is to a prepared query. */
  scan(
    partitionNo: number,
    query: Float64Array,
    tell: (row: number, similarity: number) => void,
  ): void {
    const block = this.#blocks.get(partitionNo) ?? this.#load(partitionNo, query.length)
    if (block !== undefined) {
      this.#touch(partitionNo, block)
      block.scan(query, tell)
      return
    }
    for (const { seq, embedding } of this.#of.iterate(partitionNo)) {
      tell(seq, this.compare(query, toNumbers(embedding)))
    }
  }

  /** How similar a vector is to a prepared query. */
  compare(query: Float64Array, vector: ArrayLike<number>): number {
    return this.comparison.similarity(query, this.comparison.prepare(vector), 0)
  }

  /** To be called in each transaction before its first scan: forgets what another process has changed. */
  refresh(): void {
    const version = this.#dataVersion.get()
    if (version !== this.#version) this.#clear()
    this.#version = version
  }

  /** The changes since the last call of this or of `undone` stay. */
  done(): void {
    this.#changed = false
  }

  /** The changes have been taken back in the file. */
  undone(): void {
    if (this.#changed) this.#clear()
    this.#changed = false
  }

  #change(partitionNo: number, change: (block: VectorBlock) => void): void {
    const block = this.#blocks.get(partitionNo)
    if (block === undefined) return
    this.#changed = true
    const before = block.bytes
    change(block)
    this.#bytes += block.bytes - before
    this.#evict(partitionNo)
  }

  #load(partitionNo: number, width: number): VectorBlock | undefined {
    const count = this.#count.get(partitionNo) ?? 0
    if (count * width * BYTES_PER_NUMBER > this.#mostBytes) return undefined
    const block = new VectorBlock(this.comparison, width, count)
    for (const { seq, embedding } of this.#of.iterate(partitionNo)) {
      block.set(seq, toNumbers(embedding))
    }
    this.#blocks.set(partitionNo, block)
    this.#bytes += block.bytes
    this.#evict(partitionNo)
    return block
  }

  /** Those go first that were not used for the longest time, and the one in use only where it alone is too large. */
  #evict(inUse: number): void {
    for (const partitionNo of this.#blocks.keys()) {
      if (this.#bytes <= this.#mostBytes) return
      if (partitionNo !== inUse) this.#drop(partitionNo)
    }
    if (this.#bytes > this.#mostBytes) this.#drop(inUse)
  }

  #touch(partitionNo: number, block: VectorBlock): void {
    if (!this.#blocks.delete(partitionNo)) return
    this.#blocks.set(partitionNo, block)
  }

  #drop(partitionNo: number): void {
    this.#bytes -= this.#blocks.get(partitionNo)?.bytes ?? 0
    this.#blocks.delete(partitionNo)
  }

  #clear(): void {
    this.#blocks.clear()
    this.#bytes = 0
  }
}

/** Little-endian, as all machines are that better-sqlite3 is built for. */
function toBytes(vector: readonly number[]): Buffer {
  return Buffer.from(Float64Array.from(vector).buffer)
}

/** A buffer of SQLite's may start anywhere, and doubles only at every eighth byte. */
function toNumbers(bytes: Buffer): Float64Array {
  const numbers = new Float64Array(bytes.length / BYTES_PER_NUMBER)
  new Uint8Array(numbers.buffer).set(bytes)
  return numbers
}
