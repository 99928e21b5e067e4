import { LRUCache } from 'lru-cache'
import { type Owner, ownerKey } from '../protocol/scope.js'
import type { Clock } from '../protocol/time.js'
import type { Quota } from './quota.js'
import type { Charge } from './quota-charges.js'
import { type Decision, tooMuch } from './quota-store.js'

/** Counts the records that a subject has at this moment. Rejects where nobody can tell. */
export type CountStock = (charge: Charge) => Promise<number>

/** What is known of the records of one subject. */
interface Shelf {
  /** As they were last counted, and when that began, in ms of the monotonic clock. */
  count: number
  counted: number
  /** Written since, and being written. */
  added: number
  held: number
  counting: Promise<void> | undefined
  /** Which of the times that records were taken away came last, and which came last before it was counted. */
  takenAway: number
  seen: number
}

/** A count is believed for so long, in ms: what others write and take away meanwhile is not seen. */
const FRESH_MS = 30_000
/** One that leaves no room is believed for so long, since room may have been made. */
const FULL_MS = 1000
/** Subjects whose counts are remembered. */
const MOST = 20_000

/** Room for records. They are counted when there seems to be none, and otherwise every now and then; in between it adds up. */
export class StockRoom {
  readonly #clock: Clock
  readonly #shelves = new LRUCache<string, Shelf>({ max: MOST })
  #times = 0
  #takenFromAll = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Takes room for all charges or for none. Rejects where it had to be counted and could not be. */
  async reserve(charges: readonly Charge[], count: CountStock): Promise<Decision> {
    const shelves = charges.map((charge) => this.#shelf(charge))
    for (const [index, charge] of charges.entries()) {
      const shelf = shelves[index]
      if (shelf !== undefined) await this.#refresh(shelf, charge, count)
    }
    const used = shelves.map(usedOf)
    const by = tooMuch(charges, used)
    if (by !== undefined) return { kind: 'refused', by, used }
    for (const [index, shelf] of shelves.entries()) shelf.held += charges[index]?.amount ?? 0
    const settle = (amounts: readonly number[]) => {
      for (const [index, shelf] of shelves.entries()) {
        const amount = charges[index]?.amount ?? 0
        shelf.held -= amount
        shelf.added += amounts[index] ?? amount
      }
    }
    return { kind: 'granted', used: shelves.map(usedOf), settle }
  }

  /** Records of an owner were taken away, of any owner where it is undefined: no count from before leaves no room. */
  takenAway(quotas: readonly Quota[], owner: Owner): void {
    this.#times++
    if (owner === undefined) this.#takenFromAll = this.#times
    for (const quota of quotas) {
      const shelf = this.#shelves.peek(keyOf({ quota, subject: ownerKey(owner) }))
      if (shelf !== undefined) shelf.takenAway = this.#times
    }
  }

  #shelf(charge: Charge): Shelf {
    const key = keyOf(charge)
    const known = this.#shelves.get(key)
    if (known !== undefined) return known
    const counted = Number.NEGATIVE_INFINITY
    const shelf = {
      count: 0,
      counted,
      added: 0,
      held: 0,
      counting: undefined,
      takenAway: 0,
      seen: 0,
    }
    this.#shelves.set(key, shelf)
    return shelf
  }

  async #refresh(shelf: Shelf, charge: Charge, count: CountStock): Promise<void> {
    const { quota, amount } = charge
    const age = this.#clock.monotonic() - shelf.counted
    const full = usedOf(shelf) + amount > quota.limit
    if (!(full && this.#hasLost(shelf)) && age < (full ? FULL_MS : FRESH_MS)) return
    const joined = shelf.counting !== undefined
    shelf.counting ??= this.#count(shelf, count(charge))
    await shelf.counting
    // One that was under way may have begun too early.
    if (!joined || !this.#hasLost(shelf)) return
    shelf.counting ??= this.#count(shelf, count(charge))
    await shelf.counting
  }

  #hasLost({ seen, takenAway }: Shelf): boolean {
    return seen < Math.max(takenAway, this.#takenFromAll)
  }

  async #count(shelf: Shelf, counting: Promise<number>): Promise<void> {
    const begun = this.#clock.monotonic()
    const before = shelf.added
    const seen = this.#times
    try {
      shelf.count = await counting
      shelf.counted = begun
      shelf.seen = seen
      // What was written while it was being counted may not have been seen.
      shelf.added -= before
    } finally {
      shelf.counting = undefined
    }
  }
}

function keyOf({ quota, subject }: Pick<Charge, 'quota' | 'subject'>): string {
  return `${quota.id} ${subject}`
}

function usedOf({ count, added, held }: Shelf): number {
  return count + added + held
}
