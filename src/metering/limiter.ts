import type { A2mError } from '../protocol/errors.js'
import type { Caller } from '../protocol/memory.js'
import type { Method, ParamsOf } from '../protocol/methods.js'
import type { Owner } from '../protocol/scope.js'
import type { LimitStanding } from '../protocol/usage.js'
import type { Quota } from './quota.js'
import { quotaExceeded, quotasAway, refusedStandingOf, standingOf } from './quota-answer.js'
import { type Charge, chargesOf } from './quota-charges.js'
import type { CountStock, StockRoom } from './quota-stock.js'
import type { Decision, QuotaStore, Refused } from './quota-store.js'
import type { QuotaTime } from './quota-window.js'

/** Told what limits do. Must not throw. */
export interface LimiterEvents {
  refused(charge: Charge, used: number): void
  /** A shadow limit is passed, which nobody is refused for. */
  shadowed(charge: Charge, used: number): void
  /** A soft limit is passed: the first time for this subject in this window, over all gateways that share counts. */
  warned(charge: Charge, used: number): void
}

export interface LimiterOptions {
  readonly quotas: readonly Quota[]
  readonly store: QuotaStore
  readonly stock: StockRoom
  readonly time: QuotaTime
  readonly events: LimiterEvents
}

/** What became of the charges of one call. */
export type Admission =
  | { readonly kind: 'admitted'; readonly reservation: Reservation }
  | {
      readonly kind: 'turned_away'
      readonly error: A2mError
      readonly standings: readonly LimitStanding[]
    }

/** Holds calls to their limits. */
export class Limiter {
  readonly #options: LimiterOptions

  constructor(options: LimiterOptions) {
    this.#options = options
  }

  /** What a call would take; nothing where no limit concerns it. */
  chargesOf<M extends Method>(method: M, params: ParamsOf<M>, caller: Caller): readonly Charge[] {
    const { quotas, time } = this.#options
    return chargesOf(quotas, time, { method, params, caller })
  }

  /** Whether anything is limited by what owners have. */
  get hasStock(): boolean {
    return this.#options.quotas.some(isOfStock)
  }

  /** Records of an owner were taken away, or, where it is undefined, of any. */
  takenAway(owner: Owner): void {
    this.#options.stock.takenAway(this.#options.quotas.filter(isOfStock), owner)
  }

  /** Takes everything that a call is charged, or nothing. Rejects where stock had to be counted and could not be. */
  async admit(charges: readonly Charge[], count: CountStock): Promise<Admission> {
    const { store, stock } = this.#options
    if (!charges.some(isStock)) return this.#admission(charges, await store.reserve(charges))
    const inStock = charges.filter(isStock)
    const room = await stock.reserve(inStock, count)
    const inWindows = charges.filter((charge) => !isStock(charge))
    if (room.kind !== 'granted' || inWindows.length === 0) return this.#admission(inStock, room)
    const decision = await store.reserve(inWindows)
    if (decision.kind !== 'granted') {
      room.settle(inStock.map(() => 0))
      return this.#admission(inWindows, decision)
    }
    return this.#admission([...inStock, ...inWindows], {
      kind: 'granted',
      used: [...room.used, ...decision.used],
      settle(amounts) {
        room.settle(amounts.slice(0, inStock.length))
        decision.settle(amounts.slice(inStock.length))
      },
    })
  }

  #admission(charges: readonly Charge[], decision: Decision): Admission {
    if (decision.kind === 'granted') {
      const reservation = new Reservation(charges, decision, this.#options)
      return { kind: 'admitted', reservation }
    }
    if (decision.kind === 'undecided') {
      return { kind: 'turned_away', error: quotasAway(), standings: [] }
    }
    return this.#turnedAway(charges, decision)
  }

  #turnedAway(charges: readonly Charge[], { by, used, share }: Refused): Admission {
    const { time, events } = this.#options
    const now = time.now()
    const charge = charges[by]
    if (charge === undefined) throw new TypeError(`refused by charge ${by} of ${charges.length}`)
    events.refused(charge, used[by] ?? 0)
    return {
      kind: 'turned_away',
      error: quotaExceeded(charge, share ?? { used: used[by] ?? 0 }, now),
      standings: charges.filter(isEnforced).map((other) => {
        const count = used[charges.indexOf(other)] ?? 0
        return other === charge
          ? refusedStandingOf(other, count, now)
          : standingOf(other, count, now)
      }),
    }
  }
}

/** What one call has taken of its limits, until it is settled. */
export class Reservation {
  readonly #charges: readonly Charge[]
  readonly #granted: Extract<Decision, { readonly kind: 'granted' }>
  readonly #options: LimiterOptions

  constructor(
    charges: readonly Charge[],
    granted: Extract<Decision, { readonly kind: 'granted' }>,
    options: LimiterOptions,
  ) {
    this.#charges = charges
    this.#granted = granted
    this.#options = options
  }

  /** Takes what was really used instead, tells who is to be told, and returns how the limits stand then. */
  settle(amountOf: (charge: Charge) => number): readonly LimitStanding[] {
    const amounts = this.#charges.map(amountOf)
    const isOther = ({ quota, amount }: Charge, index: number) =>
      quota.of === 'stock' || amount !== amounts[index]
    // Room in a stock is held until it is settled, whatever it comes to.
    if (this.#charges.some(isOther)) this.#granted.settle(amounts)
    const now = this.#options.time.now()
    const standings: LimitStanding[] = []
    this.#charges.forEach((charge, index) => {
      const amount = amounts[index] ?? 0
      const used = (this.#granted.used[index] ?? 0) - charge.amount + amount
      if (amount > 0) this.#tell(charge, used)
      if (isEnforced(charge)) standings.push(standingOf(charge, used, now))
    })
    return standings
  }

  #tell(charge: Charge, used: number): void {
    const { events, store } = this.#options
    const { mode, limit, warnAt } = charge.quota
    if (mode === 'shadow' && used > limit) events.shadowed(charge, used)
    if (warnAt === undefined || used < warnAt) return
    const first = store.claim(charge)
    if (first === true) events.warned(charge, used)
    else if (first !== false) {
      void first.then((isFirst) => isFirst && events.warned(charge, used))
    }
  }
}

function isStock({ quota }: Charge): boolean {
  return isOfStock(quota)
}

function isOfStock({ of }: Quota): boolean {
  return of === 'stock'
}

function isEnforced({ quota }: Charge): boolean {
  return quota.mode === 'enforce'
}
