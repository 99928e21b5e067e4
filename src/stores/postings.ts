import type { Database, Statement } from 'better-sqlite3'
import { saturation } from './bm25.js'
import type { Partition } from './partitions.js'

/**
 * How much a term counts in a text is kept in steps, each a token of its own in the index, so that the texts where it counts
 * most can be read first. A step holds saturations from its `from` on, and stands for `value`.
 */
export const STEPS = [
  { mark: '0', from: 0, value: 0.16 },
  { mark: '1', from: 0.2, value: 0.23 },
  { mark: '2', from: 0.26, value: 0.285 },
  { mark: '3', from: 0.31, value: 0.34 },
  { mark: '4', from: 0.37, value: 0.4 },
  { mark: '5', from: 0.44, value: 0.48 },
  { mark: '6', from: 0.52, value: 0.57 },
  { mark: '7', from: 0.62, value: 0.68 },
] as const
export type Step = (typeof STEPS)[number]

/** Where counts of postings are remembered: only long lists, which cost time to count. */
const LONG_LIST = 2_000
const REMEMBERED = 20_000
/** A remembered count serves until so many records came or went as this part of it. */
const TOLERANCE = 0.05
/** SQLite's word for it. */
const NO_LIMIT = -1
/** Beyond this many partitions a term is looked up once in all of them. */
const MOST_PARTITIONS = 32

/** The rows of the texts that have one term, counting to one step, in one partition or in all. */
export interface PostingList {
  readonly match: string
  readonly step: Step
  readonly count: number
}

/**
 * The search index: for each text its terms as `TERM|STEP PARTITION` tokens of FTS5. An owner's postings are lists of their
 * own, so that nobody's search reads, or is weighed by, another's words.
 */
export class Postings {
  readonly #add: Statement<[number, string]>
  readonly #remove: Statement<[number]>
  readonly #count: Statement<[string], number>
  readonly #read: Statement<[string, number], number>
  readonly #counts = new Map<string, { readonly count: number; readonly of: number }>()

  constructor(db: Database) {
    this.#add = db.prepare('INSERT INTO terms (rowid, tokens) VALUES (?, ?)')
    this.#remove = db.prepare('DELETE FROM terms WHERE rowid = ?')
    this.#count = db
      .prepare<[string], number>('SELECT count(*) FROM terms WHERE terms MATCH ?')
      .pluck()
    this.#read = db
      .prepare<[string, number], number>(
        'SELECT rowid FROM terms WHERE terms MATCH ? ORDER BY rowid DESC LIMIT ?',
      )
      .pluck()
  }

  /** `averageLength` is the partition's at this time. */
  add(seq: number, terms: readonly string[], at: { no: number; averageLength: number }): void {
    const counts = new Map<string, number>()
    for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1)
    const tokens: string[] = []
    for (const [term, count] of counts) {
      const { mark } = stepOf(saturation(count, terms.length, at.averageLength))
      tokens.push(`${term}|${mark}${at.no.toString(36)}`)
    }
    this.#add.run(seq, tokens.join(' '))
  }

  remove(seq: number): void {
    this.#remove.run(seq)
  }

  /** The lists of a term that are not empty. Beyond a few partitions they are those of the whole store. */
  lists(term: string, partitions: readonly Partition[]): readonly PostingList[] {
    return STEPS.flatMap((step) => {
      if (partitions.length > MOST_PARTITIONS) {
        const records = partitions.reduce((sum, partition) => sum + partition.records, 0)
        return this.#list(`"${term}|${step.mark}" *`, step, records)
      }
      return partitions.flatMap(({ no, records }) =>
        this.#list(`"${term}|${step.mark}${no.toString(36)}"`, step, records),
      )
    })
  }

  /** The rows of a list, the last written first, at most `limit` of them; it may be infinite. */
  read(list: PostingList, limit: number): readonly number[] {
    return this.#read.all(list.match, limit === Infinity ? NO_LIMIT : limit)
  }

  #list(match: string, step: Step, records: number): readonly PostingList[] {
    const count = this.#countOf(match, records)
    return count === 0 ? [] : [{ match, step, count }]
  }

  #countOf(match: string, of: number): number {
    const known = this.#counts.get(match)
    if (known !== undefined && Math.abs(known.of - of) <= TOLERANCE * known.count) {
      return known.count
    }
    const count = this.#count.get(match) ?? 0
    if (count >= LONG_LIST) this.#remember(match, { count, of })
    return count
  }

  #remember(match: string, counted: { readonly count: number; readonly of: number }): void {
    if (this.#counts.size >= REMEMBERED) this.#counts.clear()
    this.#counts.set(match, counted)
  }
}

function stepOf(value: number): Step {
  return STEPS.findLast(({ from }) => value >= from) ?? STEPS[0]
}
