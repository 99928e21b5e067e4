import { NOTHING_REORGANISED, type OwnersShare, type Reorganised } from '../events/changes.js'
import type { ParamsOf, ResultOf } from '../protocol/methods.js'
import { type Owner, ownerOf } from '../protocol/scope.js'
import { counts, moveWithGroup } from './moving.js'
import type { TierOption } from './options.js'
import type { Partition } from './partitions.js'
import type { Shelf } from './shelf.js'
import type { Bucket, Standing } from './standings.js'
import { sourcesFirst } from './tiers.js'
import { lightestFirst } from './weight.js'

/** Promotes what has earned it and spills what is over capacity in tiers that spill, each owner for itself (§4.7). */
export function consolidate(
  shelf: Shelf,
  params: ParamsOf<'memory/consolidate'>,
): ResultOf<'memory/consolidate'> {
  const owner = ownerOf(params)
  const tally = new Tally()
  reorganise(shelf, { owner, tiers: shelf.tiers, tally })
  shelf.tell(() => ({ kind: 'consolidated', shares: tally.shares() ?? nothingFor(owner) }))
  return { ...tally.total(), counts: counts(shelf, params) }
}

function nothingFor(owner: Owner): readonly OwnersShare<Reorganised>[] {
  return [{ owner, part: NOTHING_REORGANISED }]
}

/** What was done to the records of each owner. */
export class Tally {
  readonly #owners = new Map<string | null, Reorganised>()

  add(owner: string | null, done: Partial<Reorganised>): void {
    const before = this.#owners.get(owner) ?? NOTHING_REORGANISED
    this.#owners.set(owner, {
      ...before,
      moved: before.moved + (done.moved ?? 0),
      promoted: before.promoted + (done.promoted ?? 0),
    })
  }

  total(): Reorganised {
    const total = new Tally()
    for (const done of this.#owners.values()) total.add(null, done)
    return total.#owners.get(null) ?? NOTHING_REORGANISED
  }

  /** For the event log; undefined where there was nobody to do anything for. */
  shares(): readonly OwnersShare<Reorganised>[] | undefined {
    if (this.#owners.size === 0) return undefined
    return [...this.#owners].map(([owner, part]) => ({ owner, part }))
  }
}

export interface Reorganisation {
  readonly owner: Owner
  /** Those whose rules are applied. */
  readonly tiers: readonly TierOption[]
  readonly tally: Tally
}

/** Applies the rules of tiers to what is in them. */
export function reorganise(shelf: Shelf, { owner, tiers, tally }: Reorganisation): void {
  for (const tier of sourcesFirst(shelf.tiers).filter((one) => tiers.includes(one))) {
    for (const apply of rulesOf(tier)) {
      const here = shelf.partitions.of(owner).filter((part) => part.tier === tier.name)
      for (const partition of here) apply(shelf, tier, { partition, tally })
    }
  }
}

type Rule = (shelf: Shelf, tier: TierOption, place: Place) => void

function rulesOf({ promote_to, promote_after, spill_to, capacity = 0 }: TierOption): Rule[] {
  const rules: Rule[] = []
  if (promote_to !== undefined && promote_after !== undefined) rules.push(promoteEarned)
  if (spill_to !== undefined && capacity > 0) rules.push(spill)
  return rules
}

interface Place {
  readonly partition: Partition
  readonly tally: Tally
}

function promoteEarned(
  shelf: Shelf,
  { promote_to = '', promote_after = Infinity }: TierOption,
  { partition, tally }: Place,
): void {
  const settled = new Set<number>()
  for (const seq of shelf.standings.usedAtLeast(promote_after, partition.no)) {
    const row = settled.has(seq) ? undefined : shelf.records.at(seq)
    if (row === undefined) continue
    const moved = moveWithGroup(shelf, row, { tier: promote_to, settled })
    tally.add(partition.owner, { promoted: moved.length })
  }
}

function spill(shelf: Shelf, tier: TierOption, place: Place): void {
  const { capacity = 0, per_session } = tier
  const { no, records } = place.partition
  const settled = new Set<number>()
  if (!per_session) {
    const bucket = undefined
    spillBucket(shelf, tier, { ...place, bucket, settled, surplus: records - capacity })
    return
  }
  for (const bucket of shelf.standings.sessionsOver(capacity, no)) {
    const surplus = shelf.standings.count(no, bucket) - capacity
    spillBucket(shelf, tier, { ...place, bucket, settled, surplus })
  }
}

interface Overfull extends Place {
  readonly bucket: Bucket
  readonly settled: Set<number>
  /** How many records are too many in it. */
  readonly surplus: number
}

/** Moves whole groups until no more has to go. */
function spillBucket(shelf: Shelf, tier: TierOption, overfull: Overfull): void {
  const { partition, bucket, settled, surplus, tally } = overfull
  let left = surplus
  if (left <= 0) return
  for (const { seq } of leaving(shelf, tier, overfull)) {
    if (left <= 0) return
    const row = settled.has(seq) ? undefined : shelf.records.at(seq)
    if (row === undefined) continue
    const moved = moveWithGroup(shelf, row, { tier: tier.spill_to ?? '', settled })
    left -= moved.filter(
      ({ partitionNo, session }) =>
        partitionNo === partition.no && (bucket === undefined || session === bucket),
    ).length
    tally.add(partition.owner, { moved: moved.length })
  }
}

/** In the order in which records go: the lightest first where a tier has a half-life, otherwise the oldest. */
function leaving(
  { standings, clock }: Shelf,
  { half_life }: TierOption,
  { partition, bucket, surplus }: Overfull,
): readonly Standing[] {
  if (half_life === undefined) return standings.of(partition.no, bucket, surplus)
  const all = standings.of(partition.no, bucket, Infinity)
  return lightestFirst(all, { halfLife: half_life * 1000, now: clock.now() })
}
