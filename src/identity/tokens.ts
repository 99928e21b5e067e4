import type { Caller } from '../protocol/memory.js'

/** A bearer credential that is no API key. `digest` is its SHA-256 in hexadecimal, `now` wall time in ms. */
export interface PresentedToken {
  readonly token: string
  readonly digest: string
  readonly now: number
}

/** Knows callers by tokens that somebody else has signed. */
export interface Tokens {
  /** At once where the token was seen before, or can be none; the promise never rejects. */
  authenticate(presented: PresentedToken): Caller | undefined | Promise<Caller | undefined>
}
