import type { Change, OwnersShare, RecordPlace, Reorganised, WrittenRecord } from './changes.js'

/** What one event says beside its kind and time, as far as one owner may see it. */
export type Part = Readonly<Record<string, unknown>>

/** One event of the log, parted by the owners whose records it is about; each owner at most once. */
export interface Draft {
  readonly kind: Change['kind']
  readonly shares: readonly OwnersShare<Part>[]
}

/** More ids than this are left out of `forgotten`, which then tells the count alone. */
const MOST_IDS = 1000

/** The events that a change makes (§4.12); none where it changed nothing. */
export function draftsOf(change: Change): Draft[] {
  if (change.kind === 'written') return change.records.map(written)
  return told(change).filter(({ shares }) => shares.length > 0)
}

function told(change: Exclude<Change, { kind: 'written' }>): Draft[] {
  const { kind } = change
  if (kind === 'forgotten') return [{ kind, shares: idShares(change.shares, forgottenPart) }]
  if (kind === 'promoted') {
    const { tier } = change
    return [{ kind, shares: idShares(change.shares, (ids) => ({ ids, tier })) }]
  }
  const consolidated: Draft = { kind: 'consolidated', shares: byOwner(change.shares, summed) }
  if (kind === 'consolidated') return [consolidated]
  const { session } = change
  const closed = byOwner(change.shares, (own) => ({ part: { session }, places: everyPlace(own) }))
  return [consolidated, { kind, shares: closed }]
}

function written({ owner, upstream, ...record }: WrittenRecord): Draft {
  const { id, tier, session, key, revision } = record
  const known = tier !== undefined && upstream !== undefined
  const places = known ? [{ tier, upstream, key }] : undefined
  return {
    kind: 'written',
    shares: [{ owner, part: { id, tier, session, key, revision }, places }],
  }
}

function idShares(
  shares: readonly OwnersShare<readonly string[]>[],
  tell: (ids: readonly string[]) => Part,
): OwnersShare<Part>[] {
  const some = shares.filter(({ part }) => part.length > 0)
  return byOwner(some, (own) => {
    const ids = [...new Set(own.flatMap(({ part }) => part))]
    return { part: tell(ids), places: ids.length > MOST_IDS ? undefined : placesOf(ids, own) }
  })
}

/** Where each record is. One that was in two places is told of by the last. */
function placesOf(
  ids: readonly string[],
  shares: readonly OwnersShare<readonly string[]>[],
): RecordPlace[] | undefined {
  const known = new Map<string, RecordPlace>()
  for (const { part, places = [] } of shares) {
    for (const [index, place] of places.entries()) known.set(part[index] ?? '', place)
  }
  const found = ids.flatMap((id) => known.get(id) ?? [])
  return found.length === ids.length ? found : undefined
}

function forgottenPart(ids: readonly string[]): Part {
  return ids.length > MOST_IDS ? { count: ids.length } : { count: ids.length, ids }
}

function byOwner<T>(
  shares: readonly OwnersShare<T>[],
  join: (shares: readonly OwnersShare<T>[]) => Omit<OwnersShare<Part>, 'owner'>,
): OwnersShare<Part>[] {
  const parted = new Map<OwnersShare<T>['owner'], OwnersShare<T>[]>()
  for (const share of shares) {
    const known = parted.get(share.owner)
    if (known === undefined) parted.set(share.owner, [share])
    else known.push(share)
  }
  return [...parted].map(([owner, some]) => ({ owner, ...join(some) }))
}

function summed(shares: readonly OwnersShare<Reorganised>[]): Omit<OwnersShare<Part>, 'owner'> {
  const parts = shares.map(({ part }) => part)
  return {
    part: sums(parts, ['moved', 'promoted', 'dropped', 'summarized']),
    places: everyPlace(shares),
  }
}

function everyPlace(shares: readonly OwnersShare<unknown>[]): RecordPlace[] | undefined {
  const places = shares.map((share) => share.places)
  return places.includes(undefined) ? undefined : places.flatMap((some) => some ?? [])
}

function sums(parts: readonly object[], names: readonly string[]): Part {
  const entries = names.map((name) => [name, parts.reduce((sum, part) => sum + at(part, name), 0)])
  return Object.fromEntries(entries)
}

function at(part: object, name: string): number {
  const value: unknown = Reflect.get(part, name)
  return typeof value === 'number' ? value : 0
}

/** One event out of the shares of it that a reader may see, which are one at least. */
export function joined(kind: string, parts: readonly Part[]): Part {
  const [first = {}, ...others] = parts
  if (others.length === 0) return first
  if (kind === 'promoted') return { ...first, ids: parts.flatMap(idsOf) }
  if (kind === 'consolidated') return sums(parts, Object.keys(first))
  if (kind !== 'forgotten') return first
  const ids = parts.flatMap(idsOf)
  const count = at(sums(parts, ['count']), 'count')
  return ids.length === count && count <= MOST_IDS ? { count, ids } : { count }
}

function idsOf({ ids }: Part): unknown[] {
  return Array.isArray(ids) ? ids : []
}
