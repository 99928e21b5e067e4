import type { Database, Statement } from 'better-sqlite3'
import { saturation } from './bm25.js'
import type { Partition } from './partitions.js'

/**
 * How much a term counts in a text is kept in steps, each a token of its own in the index, so that the texts where it counts
 * most can be read first. A step holds saturations from its `from` on, and stands for `value`.
 */
const STEPS = [
  { mark: '0', from: 0, value: 0.16 },
  { mark: '1', from: 0.2, value: 0.23 },
  { mark: '2', from: 0.26, value: 0.285 },
  { mark: '3', from: 0.31, value: 0.34 },
  { mark: '4', from: 0.37, value: 0.4 },
  { mark: '5', from: 0.44, value: 0.48 },
  { mark: '6', from: 0.52, value: 0.57 },
  { mark: '7', from: 0.62, value: 0.68 },
] as const
/** Where counts of postings are remembered: only of long lists, which cost time to count. */
const LONG = 2_000
const REMEMBERED = 5_000
/** Remembered counts serve until so many records came or went as this part of them. */
const TOLERANCE = 0.05
/** Beyond so many partitions a term is looked up once for all, and the lists of others are left out. */
const MOST_PARTITIONS = 32
/** SQLite's word for no limit. */
const NO_LIMIT = -1
/** Comes next after the `|` that ends a prefix of tokens. */
const AFTER = '}'

/** The rows of the texts of one partition that have one term, where it counts to one step. */
export interface PostingList {
  readonly token: string
  /** What the term counts there, about. */
  readonly saturation: number
  readonly count: number
}

interface Remembered {
  readonly lists: readonly PostingList[]
  readonly count: number
  /** How many records the partition had then. */
  readonly records: number
}

/**
 * The search index: for each text its terms as tokens `TERM|PARTITION|STEP` of FTS5. An owner's postings are lists of their
 * own, so that nobody's search reads, or is weighed by, another's words.
 */
export class Postings {
  readonly #add: Statement<[number, string]>
  readonly #remove: Statement<[number]>
  readonly #lists: Statement<[string, string], { readonly token: string; readonly count: number }>
  readonly #read: Statement<[string, number], number>
  readonly #remembered = new Map<string, Remembered>()

  constructor(db: Database) {
    this.#add = db.prepare('INSERT INTO terms (rowid, tokens) VALUES (?, ?)')
    this.#remove = db.prepare('DELETE FROM terms WHERE rowid = ?')
    this.#lists = db.prepare(
      'SELECT term AS token, doc AS count FROM term_counts WHERE term >= ? AND term < ?',
    )
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
      tokens.push(`${prefixOf(term, at.no)}${mark}`)
    }
    this.#add.run(seq, tokens.join(' '))
  }

  remove(seq: number): void {
    this.#remove.run(seq)
  }

  /** The lists of a term in these partitions. */
  lists(term: string, partitions: readonly Partition[]): readonly PostingList[] {
    if (partitions.length <= MOST_PARTITIONS) {
      return partitions.flatMap((partition) => this.#listsIn(term, partition))
    }
    const wanted = new Set(partitions.map(({ no }) => prefixOf(term, no)))
    return this.#scan(`${term}|`).filter(({ token }) => wanted.has(token.slice(0, -1)))
  }

  /** The rows of a list, the last written first, at most `limit` of them; it may be infinite. */
  read({ token }: PostingList, limit: number): readonly number[] {
    return this.#read.all(`"${token}"`, limit === Infinity ? NO_LIMIT : limit)
  }

  #listsIn(term: string, { no, records }: Partition): readonly PostingList[] {
    const prefix = prefixOf(term, no)
    const known = this.#remembered.get(prefix)
    if (known !== undefined && Math.abs(known.records - records) <= TOLERANCE * known.count) {
      return known.lists
    }
    const lists = this.#scan(prefix)
    const count = lists.reduce((sum, list) => sum + list.count, 0)
    if (count >= LONG) this.#remember(prefix, { lists, count, records })
    return lists
  }

  #scan(prefix: string): readonly PostingList[] {
    return this.#lists
      .all(prefix, `${prefix.slice(0, -1)}${AFTER}`)
      .map(({ token, count }) => ({ token, count, saturation: saturationOf(token) }))
  }

  #remember(prefix: string, counted: Remembered): void {
    if (this.#remembered.size >= REMEMBERED) this.#remembered.clear()
    this.#remembered.set(prefix, counted)
  }
}

function prefixOf(term: string, partitionNo: number): string {
  return `${term}|${partitionNo.toString(36)}|`
}

function stepOf(value: number): (typeof STEPS)[number] {
  return STEPS.findLast(({ from }) => value >= from) ?? STEPS[0]
}

function saturationOf(token: string): number {
  return STEPS[Number(token.slice(-1))]?.value ?? 0
}
