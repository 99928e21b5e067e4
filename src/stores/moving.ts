import type { ParamsOf, ResultOf } from '../protocol/methods.js'
import { type Owned, ownerOf } from '../protocol/scope.js'
import { spillChain, type TierOption } from './options.js'
import type { Partition } from './partitions.js'
import type { Row } from './records-table.js'
import { requireTier, type Shelf, select } from './shelf.js'

/** Takes records, each with its whole group, to a tier (§4.6); counts all that moved. */
export function promote(
  shelf: Shelf,
  params: ParamsOf<'memory/promote'>,
): ResultOf<'memory/promote'> {
  requireTier(shelf, params.tier)
  if (params.ids.length === 0) return { promoted: 0 }
  const { ids, 'a2m-gateway': extension } = params
  const named = [...select(shelf, { ids, 'a2m-gateway': extension }).all()]
  const moved = new Set<number>()
  for (const { row } of named) moveWithGroup(shelf, row, { tier: params.tier, moved })
  return { promoted: moved.size }
}

/** Spills what is over capacity in tiers that spill, the oldest groups first, each owner for itself (§4.7). */
export function consolidate(
  shelf: Shelf,
  params: ParamsOf<'memory/consolidate'>,
): ResultOf<'memory/consolidate'> {
  let spilt = 0
  for (const tier of sourcesFirst(shelf.tiers)) {
    for (const partition of shelf.partitions.of(ownerOf(params))) {
      if (partition.tier === tier.name) spilt += spill(shelf, tier, partition)
    }
  }
  return { moved: spilt, promoted: 0, dropped: 0, summarized: 0, counts: counts(shelf, params) }
}

/** How many records each tier holds, of the owner that the params name. */
export function counts(shelf: Shelf, params: Owned): Record<string, number> {
  const sums = new Map(shelf.tiers.map(({ name }) => [name, 0]))
  for (const { tier, records } of shelf.partitions.of(ownerOf(params))) {
    sums.set(tier, (sums.get(tier) ?? 0) + records)
  }
  return Object.fromEntries(sums)
}

/** A tier that others spill into comes after them, so that one pass is enough. */
function sourcesFirst(tiers: readonly TierOption[]): readonly TierOption[] {
  const reach = (tier: TierOption): number => spillChain(tier, tiers).length
  return tiers.toSorted((left, right) => reach(right) - reach(left))
}

function spill(shelf: Shelf, { capacity = 0, spill_to }: TierOption, from: Partition): number {
  const surplus = from.records - capacity
  if (capacity === 0 || spill_to === undefined || surplus <= 0) return 0
  const moved = new Set<number>()
  let left = surplus
  for (const row of shelf.records.oldest(from.no, surplus)) {
    if (left <= 0) break
    if (!moved.has(row.seq)) {
      left -= moveWithGroup(shelf, row, { tier: spill_to, moved }).get(from.no) ?? 0
    }
  }
  return moved.size
}

interface Move {
  readonly tier: string
  /** The rows that have moved; this adds to them. */
  readonly moved: Set<number>
}

/** Returns how many records left each partition, by its number. */
function moveWithGroup(shelf: Shelf, row: Row, { tier, moved }: Move): ReadonlyMap<number, number> {
  const { partitions, records, writer } = shelf
  const target = partitions.partitionNo(row.ownerNo, tier)
  const left = new Map<number, number>()
  for (const member of row.group === null ? [row] : records.inGroup(row.group, row.ownerNo)) {
    if (member.partitionNo === target || moved.has(member.seq)) continue
    writer.move(member, tier)
    moved.add(member.seq)
    left.set(member.partitionNo, (left.get(member.partitionNo) ?? 0) + 1)
  }
  return left
}
