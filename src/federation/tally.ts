import { NOTHING_REORGANISED, type OwnersShare, type Reorganised } from '../events/changes.js'
import type { Owner } from '../protocol/scope.js'
import { holder, type Located } from './locate.js'

/** What a consolidate or a session/close did, to the records of each owner. */
export class Tally {
  readonly #owners = new Map<string | null, Reorganised>()

  add(owner: string | null, done: Partial<Reorganised>): void {
    const before = this.#owners.get(owner) ?? NOTHING_REORGANISED
    this.#owners.set(owner, sum(before, { ...NOTHING_REORGANISED, ...done }))
  }

  count(records: readonly Located[], as: keyof Reorganised): void {
    for (const { record } of records) this.add(holder(record), { [as]: 1 })
  }

  /** Whether anything was done. */
  get any(): boolean {
    return this.#owners.size > 0
  }

  total(): Reorganised {
    return [...this.#owners.values()].reduce(sum, NOTHING_REORGANISED)
  }

  shares(): OwnersShare<Reorganised>[] {
    return [...this.#owners].map(([owner, part]) => ({ owner, part }))
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
