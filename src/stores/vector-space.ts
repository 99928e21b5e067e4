import type { Database, Statement } from 'better-sqlite3'
import { A2mError } from '../protocol/errors.js'
import type { Metric } from './metric.js'

const USUAL_METRIC: Metric = 'cosine'

/** What all vectors of a store have in common: their width, and how they are compared. */
export class VectorSpace {
  readonly metric: Metric
  readonly #dimensions: Statement<[], number | null>
  readonly #fix: Statement<[number]>

  /** A metric that is given is what the file has from now on, where it may be written. */
  constructor(db: Database, metric: Metric | undefined) {
    const kept = db.prepare<[], Metric | null>('SELECT metric FROM vector_space').pluck().get()
    if (metric !== undefined && metric !== kept && !db.readonly) {
      db.prepare('UPDATE vector_space SET metric = ?').run(metric)
    }
    this.metric = metric ?? kept ?? USUAL_METRIC
    this.#dimensions = db.prepare<[], number | null>('SELECT dimensions FROM vector_space').pluck()
    this.#fix = db.prepare('UPDATE vector_space SET dimensions = ? WHERE dimensions IS NULL')
  }

  /** How many numbers every vector has; null until the first is written, and then the same for good. Other processes may write it. */
  dimensions(): number | null {
    return this.#dimensions.get() ?? null
  }

  /** The width of a vector that is being written is the store's where it had none. */
  fix(width: number): void {
    this.#fix.run(width)
  }

  /** Throws `-32008` at the first vector that has not the store's width or, where none is fixed, that of the first. */
  require(vectors: readonly (readonly number[] | undefined)[]): void {
    const first = vectors.find((vector) => vector !== undefined)
    if (first === undefined) return
    const dimensions = this.dimensions() ?? first.length
    for (const vector of vectors) {
      if (vector === undefined || vector.length === dimensions) continue
      throw new A2mError(
        'EMBEDDING_MISMATCH',
        `a vector of ${vector.length} numbers, where all have ${dimensions}`,
        { dimensions, given: vector.length },
      )
    }
  }
}
