import type { Change, OwnersShare, Reorganised, WrittenRecord } from './changes.js'

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
  return [consolidated, { kind, shares: byOwner(change.shares, () => ({ session })) }]
}

function written({ owner, ...record }: WrittenRecord): Draft {
  const { id, tier, session, key, revision } = record
  return { kind: 'written', shares: [{ owner, part: { id, tier, session, key, revision } }] }
}

function idShares(
  shares: readonly OwnersShare<readonly string[]>[],
  tell: (ids: readonly string[]) => Part,
): OwnersShare<Part>[] {
  const some = shares.filter(({ part }) => part.length > 0)
  return byOwner(some, (parts) => tell([...new Set(parts.flat())]))
}

function forgottenPart(ids: readonly string[]): Part {
  return ids.length > MOST_IDS ? { count: ids.length } : { count: ids.length, ids }
}

function byOwner<T>(
  shares: readonly OwnersShare<T>[],
  join: (parts: readonly T[]) => Part,
): OwnersShare<Part>[] {
  const parts = new Map<OwnersShare<T>['owner'], T[]>()
  for (const { owner, part } of shares) {
    const known = parts.get(owner)
    if (known === undefined) parts.set(owner, [part])
    else known.push(part)
  }
  return [...parts].map(([owner, some]) => ({ owner, part: join(some) }))
}

function summed(parts: readonly Reorganised[]): Part {
  return sums(parts, ['moved', 'promoted', 'dropped', 'summarized'])
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
