import type { Database, Statement } from 'better-sqlite3'
import type { Clock } from '../protocol/time.js'

/** For another process that holds the file, in ms. */
const PATIENCE_MS = 50

interface Amount {
  readonly seq: number
  readonly amount: number
}

interface Use {
  readonly seq: number
  readonly now: number
}

/** Counts what records are used for and what they are worth. */
export class Uses {
  readonly #db: Database
  readonly #clock: Clock
  readonly #use: Statement<[Use]>
  readonly #add: Statement<[Amount]>
  readonly #synchronous: number
  readonly #busyTimeout: number
  #noted: readonly number[] = []

  constructor(db: Database, clock: Clock) {
    this.#db = db
    this.#clock = clock
    this.#synchronous = Number(db.pragma('synchronous', { simple: true }))
    this.#busyTimeout = Number(db.pragma('busy_timeout', { simple: true }))
    this.#use = db.prepare(
      `UPDATE records SET access_count = coalesce(access_count, 0) + 1,
         accessed_at = max(coalesce(accessed_at, @now), @now) WHERE seq = @seq`,
    )
    this.#add = db.prepare(
      `UPDATE records SET salience = min(max(coalesce(salience, 1) + @amount, 0), ${Number.MAX_VALUE})
       WHERE seq = @seq`,
    )
  }

  /** Rows that a reading call gives out; they are counted when it is over. */
  note(seqs: readonly number[]): void {
    this.#noted = seqs
  }

  /**
   * Counts what was noted, in a transaction of its own that waits neither for the disk nor for long: what loss of power costs is a count.
   * A file that cannot be written to now costs one too, and not the answer.
   */
  settle(): void {
    const seqs = this.#noted
    this.forget()
    if (seqs.length === 0) return
    this.#db.pragma(`busy_timeout = ${PATIENCE_MS}`)
    this.#db.pragma('synchronous = NORMAL')
    try {
      this.#db.transaction(() => this.count(seqs)).immediate()
    } catch (thrown) {
      if (!(thrown instanceof Error && 'code' in thrown)) throw thrown
    } finally {
      this.#db.pragma(`synchronous = ${this.#synchronous}`)
      this.#db.pragma(`busy_timeout = ${this.#busyTimeout}`)
    }
  }

  /** Leaves what was noted uncounted. */
  forget(): void {
    this.#noted = []
  }

  /** Each is used once more, now. */
  count(seqs: Iterable<number>): void {
    const now = this.#clock.now()
    for (const seq of seqs) this.#use.run({ seq, now })
  }

  /** Adds to the salience of each, which does not fall below 0. */
  add(seqs: Iterable<number>, amount: number): void {
    for (const seq of seqs) this.#add.run({ seq, amount })
  }
}
