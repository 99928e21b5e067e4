import type { Charge } from './quota-charges.js'
import { Counters } from './quota-counters.js'
import type { Count } from './quota-keys.js'
import { type Share, tooMuch } from './quota-store.js'

/** What a gateway knows of one count that it shares with others. */
interface Counter {
  /** What it was when it was last heard of. */
  known: number
  /** What was taken here since, and is not counted there. */
  taken: number
  told: boolean
}

/** A count that is to be brought up to date. */
export interface Owed {
  readonly count: Count
  readonly counter: Counter
}

/** What one gateway knows of the counts that it shares, so that it can decide by itself while they are away. */
export class Mirror {
  readonly #gateways: number
  readonly #counters = new Counters<Counter>(() => ({ known: 0, taken: 0, told: false }))

  /** Among so many gateways what is left of a limit divides. */
  constructor(gateways: number) {
    this.#gateways = gateways
  }

  of(charge: Charge): Counter {
    return this.#counters.of(charge)
  }

  heard(charges: readonly Charge[], used: readonly number[]): void {
    charges.forEach((charge, index) => {
      this.of(charge).known = used[index] ?? 0
    })
  }

  add(charges: readonly Charge[], amounts: readonly number[]): void {
    charges.forEach((charge, index) => {
      this.of(charge).taken += amounts[index] ?? 0
    })
  }

  /** What is used, as far as is known here. */
  used(charges: readonly Charge[]): readonly number[] {
    return charges.map((charge) => {
      const { known, taken } = this.of(charge)
      return known + taken
    })
  }

  /** What is used where the parts of other gateways are, too. */
  usedWithParts(charges: readonly Charge[]): readonly number[] {
    return charges.map((charge) => charge.quota.limit - this.#left(charge))
  }

  /** The first charge that this gateway's part of what was left has no room for. */
  tooMuchForPart(charges: readonly Charge[]): number | undefined {
    return tooMuch(charges, this.usedWithParts(charges))
  }

  /** What this gateway may give of a limit by itself; undefined where the limit itself was used up before. */
  shareOf(charge: Charge): Share | undefined {
    const { known, taken } = this.of(charge)
    if (known >= charge.quota.limit) return undefined
    return { size: this.#partOf(charge), used: known + taken }
  }

  /** Every count that others may not know of, in windows that are not over. */
  *owed(now: number): Iterable<Owed> {
    for (const [id, { span, counters }] of this.#counters.all()) {
      if (span.end <= now) continue
      for (const [subject, counter] of counters) {
        if (counter.known + counter.taken > 0) yield { count: { id, span, subject }, counter }
      }
    }
  }

  #left(charge: Charge): number {
    return this.#partOf(charge) - this.of(charge).taken
  }

  #partOf(charge: Charge): number {
    return Math.floor(Math.max(0, charge.quota.limit - this.of(charge).known) / this.#gateways)
  }
}
