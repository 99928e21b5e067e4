import { EXTENSION } from '../protocol/extension.js'
import type { ParamsOf, ResultOf } from '../protocol/methods.js'
import type { Entry } from '../protocol/records.js'
import { ownerOf } from '../protocol/scope.js'
import { parseInstant } from '../protocol/time.js'
import { rank, recallLimit } from './reading.js'
import type { Selected, Selection } from './selection.js'
import { requireTier, type Shelf, select } from './shelf.js'
import type { Place } from './writer.js'

/** Writes a batch whole or not at all; an id that its owner has already is returned and nothing written (§3.2). */
export function remember(
  shelf: Shelf,
  params: ParamsOf<'memory/remember'>,
): ResultOf<'memory/remember'> {
  const carried = params[EXTENSION]?.carried
  for (const { tier } of params.records) if (tier !== undefined) requireTier(shelf, tier)
  const now = shelf.clock.now()
  const ids = params.records.map((entry, index) =>
    keep(shelf, entry, {
      owner: entry.owner ?? ownerOf(params) ?? null,
      instant: parseInstant(carried?.[index]?.created_at ?? '') ?? now,
    }),
  )
  return { ids }
}

interface Circumstances {
  readonly owner: string | null
  /** When the record came to be, in ms since 1970. */
  readonly instant: number
}

function keep(shelf: Shelf, entry: Entry, { owner, instant }: Circumstances): string {
  const { partitions, records, tiers } = shelf
  const ownerNo = partitions.ownerNo(owner)
  const id = entry.id ?? shelf.newId()
  if (records.exists(id, ownerNo)) return id
  shelf.writer.add({
    id,
    ownerNo,
    partitionNo: partitions.partitionNo(ownerNo, entry.tier ?? tiers[0]?.name ?? ''),
    created_at: instant,
    group: entry.group ?? null,
    role: entry.role ?? null,
    content: entry.content,
    metadata: entry.metadata?.text ?? null,
  })
  return id
}

/** Deletes what all selectors together select; a query selects what recall with them would give by default. */
export function forget(shelf: Shelf, params: ParamsOf<'memory/forget'>): ResultOf<'memory/forget'> {
  const places: Place[] = []
  for (const { row } of toForget(shelf, params.query ?? '', select(shelf, params))) {
    places.push({ seq: row.seq, partitionNo: row.partitionNo, length: row.length })
  }
  for (const place of places) shelf.writer.remove(place)
  return { forgotten: places.length }
}

function toForget(shelf: Shelf, query: string, selection: Selection): Iterable<Selected> {
  return query.trim() === '' ? selection.all() : rank(shelf, query, selection, recallLimit(shelf))
}
