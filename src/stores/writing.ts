import type { WrittenRecord } from '../events/changes.js'
import type { Carried } from '../protocol/extension.js'
import { EXTENSION } from '../protocol/extension.js'
import type { ParamsOf, ResultOf } from '../protocol/methods.js'
import type { Entry } from '../protocol/records.js'
import { ownerOf } from '../protocol/scope.js'
import { parseInstant } from '../protocol/time.js'
import { moveWithGroup, shareOf } from './moving.js'
import { rank } from './ranking.js'
import { recallLimit } from './reading.js'
import type { Row, Statement } from './rows.js'
import type { Selected, Selection } from './selection.js'
import { requireTier, type Shelf, select } from './shelf.js'
import type { Place, Said } from './writer.js'

/**
 * Writes a batch in its order, whole or not at all. An id that its owner has already is returned and nothing written (§3.2); a key that
 * its owner has already is written over (§3.6).
 */
export function remember(
  shelf: Shelf,
  params: ParamsOf<'memory/remember'>,
): ResultOf<'memory/remember'> {
  const { records, session } = params
  const carried = params[EXTENSION]?.carried
  for (const { tier } of records) if (tier !== undefined) requireTier(shelf, tier)
  shelf.vectors.space.require(records.map(({ embedding }) => embedding))
  const written: WrittenRecord[] = []
  const ids = records.map((entry, index) => {
    const owner = entry.owner ?? ownerOf(params) ?? null
    const circumstances = { owner, session, carried: carried?.[index] ?? undefined }
    const record = keep(shelf, entry, circumstances)
    if (typeof record === 'string') return record
    written.push(record)
    return record.id
  })
  shelf.tell(() => ({ kind: 'written', records: written }))
  return { ids }
}

interface Circumstances {
  readonly owner: string | null
  /** Of entries that name none. */
  readonly session: string | undefined
  readonly carried: Carried | undefined
}

/** What was written, or the id where that was there before. */
function keep(shelf: Shelf, entry: Entry, circumstances: Circumstances): WrittenRecord | string {
  const { partitions, records } = shelf
  const ownerNo = partitions.ownerNo(circumstances.owner)
  if (entry.id !== undefined && records.exists(entry.id, ownerNo)) return entry.id
  const occupant = entry.key === undefined ? undefined : records.atKey(entry.key, ownerNo)
  return occupant === undefined
    ? add(shelf, entry, { ...circumstances, ownerNo })
    : replace(shelf, entry, { ...circumstances, occupant })
}

function add(
  shelf: Shelf,
  entry: Entry,
  { owner, ownerNo, session, carried }: Circumstances & { readonly ownerNo: number },
): WrittenRecord {
  const { clock, newId, partitions, tiers, writer } = shelf
  const { key, tier = tiers[0]?.name ?? '' } = entry
  const id = entry.id ?? newId()
  const revision = key === undefined ? undefined : (carried?.revision ?? 0)
  writer.add({
    ...said(entry, { session, revision }),
    id,
    ownerNo,
    partitionNo: partitions.partitionNo(ownerNo, tier),
    key: key ?? null,
    created_at: parseInstant(carried?.created_at ?? '') ?? clock.now(),
    accessed_at: parseInstant(carried?.accessed_at ?? '') ?? null,
    access_count: carried?.access_count ?? null,
  })
  return { id, owner, tier, session: entry.session ?? session, key, revision }
}

/** The record at a key keeps its id, its age, its use and, unless one is named, its tier and its salience; all else is the entry's. */
function replace(
  shelf: Shelf,
  entry: Entry,
  { owner, session, carried, occupant }: Circumstances & { readonly occupant: Row },
): WrittenRecord {
  const revision = Math.max((occupant.revision ?? 0) + 1, carried?.revision ?? 0)
  shelf.writer.restate(occupant, said(entry, { session, revision }))
  const { id } = occupant
  if (entry.tier !== undefined) moveTo(shelf, occupant.seq, entry.tier)
  const tier = entry.tier ?? shelf.partitions.tierName(occupant.partitionNo)
  return { id, owner, tier, session: entry.session ?? session, key: entry.key, revision }
}

function moveTo(shelf: Shelf, seq: number, tier: string): void {
  const row = shelf.records.at(seq)
  if (row !== undefined) moveWithGroup(shelf, row, { tier, settled: new Set() })
}

function said(
  entry: Entry,
  { session, revision }: { session: string | undefined; revision: number | undefined },
): Said<Statement> {
  return {
    content: entry.content,
    group: entry.group ?? null,
    role: entry.role ?? null,
    metadata: entry.metadata?.text ?? null,
    salience: entry.salience ?? null,
    session: entry.session ?? session ?? null,
    revision: revision ?? null,
    uri: entry.uri ?? null,
    media_type: entry.media_type ?? null,
    embedding: entry.embedding,
  }
}

/** Deletes what all selectors together select; a query selects what recall with them would give by default. */
export function forget(shelf: Shelf, params: ParamsOf<'memory/forget'>): ResultOf<'memory/forget'> {
  const places: (Place & Pick<Row, 'id' | 'ownerNo'>)[] = []
  for (const { row } of toForget(shelf, params.query ?? '', select(shelf, params))) {
    const { seq, partitionNo, length, id, ownerNo } = row
    places.push({ seq, partitionNo, length, id, ownerNo })
  }
  for (const place of places) shelf.writer.remove(place)
  shelf.tell(() => ({ kind: 'forgotten', shares: places.map((place) => shareOf(shelf, place)) }))
  return { forgotten: places.length }
}

function toForget(shelf: Shelf, query: string, selection: Selection): Iterable<Selected> {
  if (query.trim() === '') return selection.all()
  return rank(shelf, { query }, selection, recallLimit(shelf)).map(({ one }) => one)
}

/** Adds to what records are worth, each once (§4.8); records that a gateway gave out are used once more, and worth more only where it says so. */
export function reinforce(
  shelf: Shelf,
  params: ParamsOf<'memory/reinforce'>,
): ResultOf<'memory/reinforce'> {
  const { ids, amount, [EXTENSION]: extension } = params
  if (ids.length === 0) return { reinforced: 0 }
  const named = [...select(shelf, { ids, [EXTENSION]: extension }).all()]
  const seqs = named.map(({ row }) => row.seq)
  if (extension?.used) shelf.uses.count(seqs)
  shelf.uses.add(seqs, amount ?? (extension?.used ? 0 : 1))
  return { reinforced: seqs.length }
}
