import { LRUCache } from 'lru-cache'
import type { Clock } from '../protocol/time.js'
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

  #shelf({ quota, subject }: Charge): Shelf {
    const key = `${quota.id} ${subject}`
    const known = this.#shelves.get(key)
    if (known !== undefined) return known
    const counted = Number.NEGATIVE_INFINITY
    const shelf = { count: 0, counted, added: 0, held: 0, counting: undefined }
    this.#shelves.set(key, shelf)
    return shelf
  }

  async #refresh(shelf: Shelf, charge: Charge, count: CountStock): Promise<void> {
    const { quota, amount } = charge
    const age = this.#clock.monotonic() - shelf.counted
    const full = usedOf(shelf) + amount > quota.limit
    if (age < (full ? FULL_MS : FRESH_MS)) return
    shelf.counting ??= this.#count(shelf, count(charge))
    await shelf.counting
  }

  async #count(shelf: Shelf, counting: Promise<number>): Promise<void> {
    const begun = this.#clock.monotonic()
    const before = shelf.added
    try {
      shelf.count = await counting
      shelf.counted = begun
      // What was written while it was being counted may not have been seen.
      shelf.added -= before
    } finally {
      shelf.counting = undefined
    }
  }
}

function usedOf({ count, added, held }: Shelf): number {
  return count + added + held
}
