import {
  NOTHING_REORGANISED,
  type OwnersShare,
  type RecordPlace,
  type Reorganised,
} from '../../events/changes.js'
import type { Owner } from '../../protocol/scope.js'
import { grouped } from '../grouping.js'
import type { TierLayout } from '../layout.js'
import { holder, type Located } from '../locate.js'

/** What a consolidate or a session/close did, to the records of each owner. */
export class Tally {
  readonly #owners = new Map<string | null, Reorganised>()
  readonly #places = new Map<string | null, Map<string, RecordPlace>>()

  add(owner: string | null, done: Partial<Reorganised>): void {
    const before = this.#owners.get(owner) ?? NOTHING_REORGANISED
    this.#owners.set(owner, sum(before, { ...NOTHING_REORGANISED, ...done }))
  }

  count(records: readonly Located[], as: keyof Reorganised, to?: TierLayout): void {
    for (const found of records) {
      this.add(holder(found.record), { [as]: 1 })
      this.note(found, to)
    }
  }

  /** A record that something was done to, and where it went, if it did. */
  note(found: Located, to?: TierLayout): void {
    const owner = holder(found.record)
    const places = this.#places.get(owner) ?? new Map<string, RecordPlace>()
    this.#places.set(owner, places)
    const from = placeAt(found)
    for (const place of to === undefined ? [from] : [from, placeIn(to, found)]) {
      places.set(JSON.stringify(place), place)
    }
  }

  /** Whether anything was done. */
  get any(): boolean {
    return this.#owners.size > 0
  }

  placesOf(owner: string | null): readonly RecordPlace[] {
    return [...(this.#places.get(owner)?.values() ?? [])]
  }

  total(): Reorganised {
    return [...this.#owners.values()].reduce(sum, NOTHING_REORGANISED)
  }

  shares(): OwnersShare<Reorganised>[] {
    return [...this.#owners].map(([owner, part]) => ({ owner, part, places: this.placesOf(owner) }))
  }
}

function sum(left: Reorganised, right: Reorganised): Reorganised {
  return {
    moved: left.moved + right.moved,
    promoted: left.promoted + right.promoted,
    dropped: left.dropped + right.dropped,
    summarized: left.summarized + right.summarized,
  }
}

/** Ids of records as they are shown, by owner. */
export function sharesOf(records: readonly Located[]): OwnersShare<readonly string[]>[] {
  const owners = new Map<Owner, Set<string>>()
  for (const { record } of records) {
    const ids = owners.get(holder(record)) ?? new Set()
    owners.set(holder(record), ids.add(record.id))
  }
  return [...owners].map(([owner, ids]) => ({ owner, part: [...ids] }))
}

/** The same with where each record is, or was before it was deleted; `to` is where it has gone. */
export function placedShares(
  records: readonly Located[],
  to?: TierLayout,
): OwnersShare<readonly string[]>[] {
  return [...grouped(records, ({ record }) => holder(record))].map(([owner, own]) => {
    const byId = new Map(own.map((found) => [found.record.id, found]))
    const places = [...byId.values()].map((found) =>
      to === undefined ? placeAt(found) : placeIn(to, found),
    )
    return { owner, part: [...byId.keys()], places }
  })
}

export function placeAt({ source, record: { tier = '', key } }: Located): RecordPlace {
  return { tier, upstream: source.name, key }
}

/** Where a record is once it has gone to a tier. */
export function placeIn({ name, home }: TierLayout, { record }: Located): RecordPlace {
  return { tier: name, upstream: home?.name ?? '', key: record.key }
}
