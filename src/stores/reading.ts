import type { ParamsOf, ResultOf } from '../protocol/methods.js'
import type { Ranked } from './search.js'
import type { Selected, Selection } from './selection.js'
import { type Shelf, select } from './shelf.js'

/** Relevance order (§4.3), or the newest first where the query is blank. Nothing of it counts as use. */
export function recall(shelf: Shelf, params: ParamsOf<'memory/recall'>): ResultOf<'memory/recall'> {
  const { query = '', min_score: least = 0 } = params
  const ranked = rank(shelf, query, select(shelf, params), recallLimit(shelf, params.limit))
  return {
    records: ranked
      .filter(({ score }) => score >= least)
      .map(({ record, score }) => ({ ...record, score })),
  }
}

/** What recall gives for a query over a selection, best first; a query without a word finds nothing. */
export function rank(
  shelf: Shelf,
  query: string,
  selection: Selection,
  limit: number,
): readonly Ranked[] {
  if (query.trim() !== '') {
    return shelf.search.rank(shelf.tokenizer.query(query), selection, limit)
  }
  return first(selection.all(), limit).map((one, place) => ({ ...one, score: 1 / (place + 1) }))
}

/** Absent is the default, 0 everything up to the store's maximum (§4.3). */
export function recallLimit({ defaultLimit, limits }: Shelf, limit = defaultLimit): number {
  return Math.min(limit === 0 ? Infinity : limit, limits.max_recall_limit ?? Infinity)
}

/** Order of creation, oldest first, the newest `limit` of it (§4.4); 0 and absent are everything. */
export function timeline(
  shelf: Shelf,
  params: ParamsOf<'memory/timeline'>,
): ResultOf<'memory/timeline'> {
  const newest = first(select(shelf, params).all(), params.limit || Infinity)
  return { records: newest.map(({ record }) => record).reverse() }
}

function first(selected: Iterable<Selected>, limit: number): Selected[] {
  const taken: Selected[] = []
  for (const one of selected) {
    if (taken.push(one) >= limit) break
  }
  return taken
}
