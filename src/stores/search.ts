import type { Tokenizer } from '../text/tokenizer.js'
import { Bm25, rarity } from './bm25.js'
import type { Partition } from './partitions.js'
import type { PostingList, Postings } from './postings.js'
import { byAge } from './rows.js'
import type { Selected, Selection } from './selection.js'
import { Sums } from './sums.js'

/** How much is read for one query. */
export interface Effort {
  /** Postings read before the candidates are looked at; more only where they yield too little. */
  readonly budget: number
  /** The least number of candidates that are scored by their text. */
  readonly depth: number
}

const EFFORT: Effort = { budget: 50_000, depth: 128 }
const BUDGET_GROWTH = 8
/** To read a list, however short, costs as much as so many postings. */
const LIST_COST = 10
/** Query terms that are looked up: a longer text is searched by its rarest. */
const MOST_TERMS = 64

/** A selected record and its score, from 0 to 1. */
export interface Ranked {
  readonly one: Selected
  readonly score: number
}

interface SearchTerm {
  readonly term: string
  readonly weight: number
  readonly lists: readonly PostingList[]
}

interface Impact {
  readonly list: PostingList
  readonly value: number
}

/**
 * Ranks records by BM25. The posting lists are read in the order of what they add to a score until a budget is spent, so
 * that the commonest words, which add next to nothing, are not read at all; the best of the texts found are then scored
 * whole, with every word.
 */
export class Search {
  readonly #postings: Postings
  readonly #tokenizer: Tokenizer
  readonly #effort: Effort

  constructor(postings: Postings, tokenizer: Tokenizer, effort: Effort = EFFORT) {
    this.#postings = postings
    this.#tokenizer = tokenizer
    this.#effort = effort
  }

  /** The best `limit` records of a selection (all that have a term where it is infinite), best first. `terms` as `Tokenizer.query` gives them. */
  rank(terms: readonly string[], selection: Selection, limit: number): readonly Ranked[] {
    const partitions = [...selection.partitions.values()]
    const found = this.#lookUp(terms, partitions)
    const bm25 = new Bm25(
      new Map(found.map(({ term, weight }) => [term, weight])),
      averageLength(partitions),
    )
    const candidates = selection.few() ?? this.#candidates(found, selection, limit)
    return candidates
      .map((one) => ({ one, score: bm25.score(this.#tokenizer.index(one.row.content)) }))
      .filter(({ score }) => score > 0)
      .sort(byScore)
      .slice(0, limit)
  }

  #lookUp(terms: readonly string[], partitions: readonly Partition[]): readonly SearchTerm[] {
    const texts = partitions.reduce((sum, { records }) => sum + records, 0)
    const counts = new Map<string, number>()
    for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1)
    return [...counts]
      .map(([term, count]) => {
        const lists = this.#postings.lists(term, partitions)
        const having = lists.reduce((sum, list) => sum + list.count, 0)
        return { term, weight: count * rarity(having, texts), lists }
      })
      .filter(({ lists }) => lists.length > 0)
      .sort((left, right) => right.weight - left.weight)
      .slice(0, MOST_TERMS)
  }

  /** Reads on until enough candidates are selected or everything has been read. */
  #candidates(
    terms: readonly SearchTerm[],
    selection: Selection,
    limit: number,
  ): readonly Selected[] {
    const impacts = byImpact(terms)
    const total = impacts.reduce((sum, { list }) => sum + list.count, 0)
    const depth = Math.max(this.#effort.depth, limit)
    for (let budget = this.#effort.budget; ; budget *= BUDGET_GROWTH) {
      const whole = limit === Infinity || budget >= total
      const sums = this.#accumulate(impacts, whole ? Infinity : budget)
      const kept = this.#best(sums, selection, depth)
      if (whole || kept.length >= depth) return kept
    }
  }

  /** What the postings within the budget add up to for each row. */
  #accumulate(impacts: readonly Impact[], budget: number): Sums {
    const sums = new Sums()
    let left = budget
    for (const { list, value } of impacts) {
      if (left <= 0) break
      const rows = this.#postings.read(list, left)
      for (const row of rows) sums.add(row, value)
      left -= Math.max(rows.length, LIST_COST)
    }
    return sums
  }

  #best(sums: Sums, selection: Selection, depth: number): readonly Selected[] {
    const kept: Selected[] = []
    for (const seq of sums.descending()) {
      const selected = selection.at(seq)
      if (selected !== undefined && kept.push(selected) >= depth) break
    }
    return kept
  }
}

function byImpact(terms: readonly SearchTerm[]): readonly Impact[] {
  return terms
    .flatMap(({ weight, lists }) =>
      lists.map((list) => ({ list, value: weight * list.saturation })),
    )
    .sort((left, right) => right.value - left.value)
}

function averageLength(partitions: readonly Partition[]): number {
  const texts = partitions.reduce((sum, { records }) => sum + records, 0)
  const length = partitions.reduce((sum, partition) => sum + partition.length, 0)
  return texts === 0 ? 0 : length / texts
}

/** The best first, of equals the newest. */
export function byScore(left: Ranked, right: Ranked): number {
  return right.score - left.score || byAge(left.one.row, right.one.row)
}
