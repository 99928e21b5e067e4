import { EXTENSION } from '../protocol/extension.js'
import type { ParamsOf, ResultOf } from '../protocol/methods.js'
import { type Owned, ownerOf } from '../protocol/scope.js'
import type { Row } from './rows.js'
import { requireTier, type Shelf, select } from './shelf.js'

/** Takes records, each with its whole group, to a tier (§4.6), and adds to the salience of what arrives; counts all that moved. */
export function promote(
  shelf: Shelf,
  params: ParamsOf<'memory/promote'>,
): ResultOf<'memory/promote'> {
  const { ids, tier, salience = 0, [EXTENSION]: extension } = params
  requireTier(shelf, tier)
  if (ids.length === 0) return { promoted: 0 }
  const named = [...select(shelf, { ids, [EXTENSION]: extension }).all()]
  const settled = new Set<number>()
  const moved = named.flatMap(({ row }) => moveWithGroup(shelf, row, { tier, settled }))
  if (salience !== 0) {
    shelf.uses.add(
      moved.map(({ seq }) => seq),
      salience,
    )
  }
  shelf.tell(() => ({ kind: 'promoted', tier, shares: moved.map((row) => shareOf(shelf, row)) }))
  return { promoted: moved.length }
}

/** What the owner of a record is told of a change that it is in. */
export function shareOf({ partitions }: Shelf, { id, ownerNo }: Pick<Row, 'id' | 'ownerNo'>) {
  return { owner: partitions.ownerName(ownerNo), part: [id] }
}

/** How many records each tier holds, of the owner that the params name. */
export function counts(shelf: Shelf, params: Owned): Record<string, number> {
  const sums = new Map(shelf.tiers.map(({ name }) => [name, 0]))
  for (const { tier, records } of shelf.partitions.of(ownerOf(params))) {
    sums.set(tier, (sums.get(tier) ?? 0) + records)
  }
  return Object.fromEntries(sums)
}

/** Where records are to go. */
export interface Move {
  readonly tier: string
  /** The rows that were moved before and stay where they are now; those that move here are added. */
  readonly settled: Set<number>
}

/** Takes a record to a tier, and with it its whole group from wherever its members are (§3.4). Returns those that moved, as they were. */
export function moveWithGroup(shelf: Shelf, row: Row, { tier, settled }: Move): Row[] {
  const { partitions, records, writer } = shelf
  const target = partitions.partitionNo(row.ownerNo, tier)
  const members = row.group === null ? [row] : records.inGroup(row.group, row.ownerNo)
  const moving = members.filter(
    ({ seq, partitionNo }) => partitionNo !== target && !settled.has(seq),
  )
  for (const member of moving) {
    writer.move(member, tier)
    settled.add(member.seq)
  }
  return moving
}
