import type { ClaimRules } from './claims.js'

/** One issuer whose tokens are taken. Times in ms. */
export interface Issuer extends ClaimRules {
  /** Exactly as tokens name it in `iss`. */
  readonly issuer: string
  /** A token is for one of these. */
  readonly audience: readonly string[]
  /** Those that it may sign with; a token does not choose. */
  readonly algorithms: readonly string[]
  readonly keys:
    | { readonly kind: 'uri'; readonly url: string }
    | { readonly kind: 'file'; readonly path: string }
  /** How long its keys are believed without being read again. */
  readonly cache: number
  /** How much longer while they cannot be read. */
  readonly stale: number
  /** The shortest time between two readings for keys that were not found. */
  readonly cooldown: number
  /** How long a reading may take. */
  readonly timeout: number
}
