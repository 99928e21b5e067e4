import { copyWith } from '../protocol/copy.js'
import { invalidParams } from '../protocol/errors.js'
import { EXTENSION } from '../protocol/extension.js'
import type { ParamsOf, ResultOf } from '../protocol/methods.js'
import type { MemoryRecord } from '../protocol/records.js'
import { ownerOf } from '../protocol/scope.js'
import { finite } from './metric.js'
import { first, rank } from './ranking.js'
import type { Ranked } from './search.js'
import type { Selected } from './selection.js'
import { type Shelf, select } from './shelf.js'

/** Relevance order (§4.3), or the newest first where nothing is asked. What goes out is used once more from then on. */
export function recall(shelf: Shelf, params: ParamsOf<'memory/recall'>): ResultOf<'memory/recall'> {
  const { query = '', embedding, min_score: least = 0 } = params
  shelf.vectors.space.require([embedding])
  const limit = recallLimit(shelf, params.limit)
  const ranked = rank(shelf, { query, embedding }, select(shelf, params), limit).filter(
    ({ score }) => score >= least,
  )
  use(
    shelf,
    params,
    ranked.map(({ one }) => one),
  )
  return {
    records: ranked.map(({ one, score }) => copyWith(shown(shelf, one, params), { score })),
    ...(embedding && params[EXTENSION]?.similarities ? likened(shelf, ranked, embedding) : {}),
  }
}

/** What a gateway compares the records of several stores by. */
function likened(
  { vectors }: Shelf,
  ranked: readonly Ranked[],
  embedding: readonly number[],
): Pick<ResultOf<'memory/recall'>, typeof EXTENSION> {
  const query = vectors.comparison.prepare(embedding)
  const similarities = ranked.map(({ one }) => {
    const similarity = vectors.similarity(query, one.row.seq)
    return similarity === undefined ? null : finite(similarity)
  })
  return { [EXTENSION]: { similarities } }
}

/** Absent is the default, 0 everything up to the store's maximum (§4.3). */
export function recallLimit({ defaultLimit, limits }: Shelf, limit = defaultLimit): number {
  return Math.min(limit === 0 ? Infinity : limit, limits.max_recall_limit ?? Infinity)
}

/** Order of creation, oldest first, the newest `limit` of it (§4.4); 0 and absent are everything. It is no use of a record. */
export function timeline(
  shelf: Shelf,
  params: ParamsOf<'memory/timeline'>,
): ResultOf<'memory/timeline'> {
  const newest = first(select(shelf, params).all(), params.limit || Infinity)
  const records = newest.map((one) => shown(shelf, one, params)).reverse()
  return { records: params[EXTENSION]?.outline ? records.map(outlined) : records }
}

function outlined({ metadata: _, ...record }: MemoryRecord): MemoryRecord {
  record.content = ''
  return record
}

/**
 * The record at a key (§4.9). Where no owner is named that is nobody's, to which a write without an owner goes, or else the
 * only one there is; of several owners' one has to be named.
 */
export function fetch(shelf: Shelf, params: ParamsOf<'memory/fetch'>): ResultOf<'memory/fetch'> {
  const { key, owner, [EXTENSION]: extension } = params
  const there = [...select(shelf, { where: { key }, owner, [EXTENSION]: extension }).all()]
  const nobodys = there.find(({ record }) => record.owner === undefined)
  if (ownerOf(params) === undefined && nobodys === undefined && there.length > 1) {
    throw invalidParams('owner: several have that key; name one')
  }
  const one = nobodys ?? there[0]
  if (one === undefined) return { record: null }
  use(shelf, params, [one])
  return { record: shown(shelf, one, params) }
}

function use(
  shelf: Shelf,
  { [EXTENSION]: extension }: ParamsOf<'memory/fetch'> | ParamsOf<'memory/recall'>,
  given: readonly Selected[],
): void {
  if (!extension?.quiet) shelf.uses.note(given.map(({ row }) => row.seq))
}

/** The record as it was before this call, its vector with it where it is asked for. */
function shown(
  { vectors }: Shelf,
  { row, record }: Selected,
  { embeddings }: { readonly embeddings?: boolean | undefined },
): MemoryRecord {
  const embedding = embeddings ? vectors.of(row.seq) : undefined
  return embedding === undefined ? record : copyWith(record, { embedding })
}
