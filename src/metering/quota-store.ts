import type { Charge } from './quota-charges.js'

/** Everything a call asked for was taken. `used` is what is used of each limit with it. */
export interface Granted {
  readonly kind: 'granted'
  readonly used: readonly number[]
  /** Takes what was really used instead, once: as many amounts as there were charges. Less than was taken is given back. */
  settle(amounts: readonly number[]): void
}

/** Nothing was taken. `by` is the charge that did not fit, `used` what is used of each limit without it. */
export interface Refused {
  readonly kind: 'refused'
  readonly by: number
  readonly used: readonly number[]
  /** Undefined where it is the limit itself that had no room. */
  readonly share?: Share | undefined
}

/** What one of several gateways may give of a limit while it does not hear of the others. */
export interface Share {
  readonly size: number
  /** What is used of the limit, as far as is known here; what others gave meanwhile is not in it. */
  readonly used: number
}

/** The counts cannot be read, and nothing may be done without them. */
export interface Undecided {
  readonly kind: 'undecided'
}

export type Decision = Granted | Refused | Undecided

/** Keeps what is used of every limit. */
export interface QuotaStore {
  /** Takes all charges or none, whatever else is reserved at the same time. Never rejects. */
  reserve(charges: readonly Charge[]): Decision | Promise<Decision>
  /** Whether the caller of this is the first, for this subject in this window, to tell that it is warned. Never rejects. */
  claim(charge: Charge): boolean | Promise<boolean>
  close(): void | Promise<void>
}

/** Told how the counts are kept. Must not throw. */
export interface StoreEvents {
  /** `down` with a reason that holds no secret; told when it changes. */
  store(state: 'up' | 'down', reason?: string): void
  /** A call was decided without the counts that gateways share. */
  alone(): void
}

/** The first charge that does not fit into what is left of its limit, where so much of each is used. */
export function tooMuch(charges: readonly Charge[], used: readonly number[]): number | undefined {
  const by = charges.findIndex(
    ({ quota, amount }, index) =>
      quota.mode === 'enforce' && amount > quota.limit - (used[index] ?? 0),
  )
  return by < 0 ? undefined : by
}
