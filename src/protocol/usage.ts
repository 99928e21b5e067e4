import type { Owner } from './scope.js'

/** What one call read and wrote. Characters are code points of contents. */
export interface Usage {
  /** Whose records it was about: one owner's, those without an owner (null), or several owners' or anyone's (undefined). */
  readonly owner: Owner
  /** The gateway's names of the tiers that were named, written to or answered from. */
  readonly tiers: readonly string[]
  readonly recordsIn: number
  readonly recordsOut: number
  readonly charactersIn: number
  readonly charactersOut: number
  readonly vectorsIn: number
  readonly vectorsOut: number
}

/** How one limit stands for a caller after a call; windows and times in seconds, a stock has no window. */
export interface LimitStanding {
  /** The limit's name in the configuration. */
  readonly name: string
  readonly limit: number
  readonly remaining: number
  readonly window: number | undefined
  readonly reset: number | undefined
  /** The soft limit is passed: the caller is to be warned. */
  readonly warned: boolean
  /** Where the call was refused by it and may pass later: after how many seconds. */
  readonly retryAfter: number | undefined
}
