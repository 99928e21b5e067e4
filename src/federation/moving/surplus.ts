import type { MemoryRecord } from '../../protocol/records.js'
import { fadedWeight } from '../../protocol/salience.js'
import { parseInstant } from '../../protocol/time.js'
import { grouped } from '../grouping.js'
import type { TierLayout } from '../layout.js'
import { groupOf, holder, type Located } from '../locate.js'

/** What decides which records of a tier are too many. */
export type Bounds = Pick<TierLayout, 'capacity' | 'perSession' | 'halfLife'>

/**
 * The records that a tier is over its capacity by, in the order in which they came: whole groups, each owner for itself and, where the tier is so, each of its
 * sessions; records without a session share one. `now` in ms since 1970.
 */
export function surplusIn(records: readonly Located[], bounds: Bounds, now: number): Located[] {
  const owners = grouped(records, ({ record }) => holder(record))
  return [...owners.values()].flatMap((own) => surplusOf(own, bounds, now))
}

/** In one walk: a group goes while any of its members is too many, and takes those of other sessions along. */
function surplusOf(records: readonly Located[], bounds: Bounds, now: number): Located[] {
  const { capacity, perSession, halfLife } = bounds
  const bucketOf = ({ record }: Located) => (perSession ? (record.session ?? null) : null)
  const left = new Map(
    [...grouped(records, bucketOf)].map(([bucket, { length }]) => [bucket, length - capacity]),
  )
  const over = (found: Located) => (left.get(bucketOf(found)) ?? 0) > 0
  if ([...left.values()].every((surplus) => surplus <= 0)) return []
  const going = new Set<Located>()
  for (const group of inOrder(records, (found) => weight(found, { halfLife, now }))) {
    if (!group.some(over)) continue
    for (const found of group) {
      going.add(found)
      const bucket = bucketOf(found)
      left.set(bucket, (left.get(bucket) ?? 0) - 1)
    }
  }
  return records.filter((found) => going.has(found))
}

/** Groups as they have to go: by their weightiest member, of equals as they came. */
function inOrder(
  records: readonly Located[],
  weigh: (found: Located) => number,
): readonly (readonly Located[])[] {
  const groups = [...grouped(records, ({ record }) => groupOf(record)).values()]
  return groups
    .map((group) => ({
      group,
      weight: group.reduce((most, one) => Math.max(most, weigh(one)), -Infinity),
    }))
    .sort((a, b) => (a.weight === b.weight ? 0 : a.weight - b.weight))
    .map(({ group }) => group)
}

interface Fading {
  readonly halfLife: number | undefined
  readonly now: number
}

/** Without a half-life the youngest weighs most. With one it is the salience, halved for each half-life since the last use. */
function weight({ record, at }: Located, { halfLife, now }: Fading): number {
  const made = parseInstant(at) ?? 0
  if (halfLife === undefined) return made
  const used = record.accessed_at === undefined ? made : (parseInstant(record.accessed_at) ?? made)
  return fadedWeight({ salience: record.salience, idle: now - used, halfLife })
}

/** The records that have been used often enough to be promoted, each with its whole group. */
export function earnedIn(records: readonly Located[], uses: number): Located[] {
  const hasEarned = ({ access_count = 0 }: MemoryRecord) => access_count >= uses
  const earned = records.filter(({ record }) => hasEarned(record))
  const groups = new Set(earned.map(({ record }) => groupOf(record)))
  return records.filter(({ record }) => groups.has(groupOf(record)))
}
