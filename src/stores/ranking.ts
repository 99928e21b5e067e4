import { nearest } from './nearest.js'
import { byScore, type Ranked } from './search.js'
import type { Selected, Selection } from './selection.js'
import type { Shelf } from './shelf.js'

/** What a recall asks for: words, a vector, both, or neither. */
export interface Question {
  readonly query: string
  readonly embedding?: readonly number[] | undefined
}

/** How slowly the ranks of two lists lose weight where they are joined. */
const K = 60
/** The least that is read of each list to be joined, so that a smaller limit gives the first of a larger one. */
const DEPTH = 128

/**
 * What recall gives for a question over a selection, best first: the newest where nothing is asked. A query without a word
 * finds nothing, and a vector only records that have one; where both are asked, both rankings vote by rank.
 */
export function rank(
  shelf: Shelf,
  { query, embedding }: Question,
  selection: Selection,
  limit: number,
): readonly Ranked[] {
  const { search, tokenizer, vectors } = shelf
  const words = (most: number) => search.rank(tokenizer.query(query), selection, most)
  const asksWords = query.trim() !== ''
  if (embedding === undefined) return asksWords ? words(limit) : newest(selection, limit)
  if (!asksWords) return nearest(vectors, embedding, { selection, limit })
  const depth = Math.max(limit, DEPTH)
  return join([words(depth), nearest(vectors, embedding, { selection, limit: depth })]).slice(
    0,
    limit,
  )
}

function newest(selection: Selection, limit: number): readonly Ranked[] {
  return first(selection.all(), limit).map((one, place) => ({ one, score: 1 / (place + 1) }))
}

/** The first of a walk, which is then left. */
export function first(selected: Iterable<Selected>, limit: number): Selected[] {
  const taken: Selected[] = []
  for (const one of selected) {
    if (taken.push(one) >= limit) break
  }
  return taken
}

/** Reciprocal rank fusion; 1 is to be first in every list. */
function join(lists: readonly (readonly Ranked[])[]): readonly Ranked[] {
  const joined = new Map<number, Ranked>()
  for (const list of lists) {
    for (const [place, { one }] of list.entries()) {
      const share = (K + 1) / (K + 1 + place) / lists.length
      joined.set(one.row.seq, { one, score: (joined.get(one.row.seq)?.score ?? 0) + share })
    }
  }
  return [...joined.values()].sort(byScore)
}
