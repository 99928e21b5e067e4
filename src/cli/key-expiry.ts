import type { ApiKey } from '../config/api-key.js'
import { formatInstant } from '../protocol/time.js'

/** How far the keys of one caller are still good. */
export interface Expiry {
  /** `over`: none of them is. */
  readonly state: 'good' | 'over'
  /** When those ended that have, in ms since 1970, in the order of time. */
  readonly ended: readonly number[]
  readonly keys: number
}

/** Undefined where the caller has no keys in the configuration: what it shows is said to be good. */
export function expiryOf(keys: readonly ApiKey[], now: number): Expiry | undefined {
  if (keys.length === 0) return undefined
  const ended = keys.flatMap(({ expires }) =>
    expires !== undefined && expires <= now ? [expires] : [],
  )
  const state = ended.length === keys.length ? 'over' : 'good'
  return { state, ended: ended.sort((a, b) => a - b), keys: keys.length }
}

/** `expired at …`, with every instant. */
export function expired({ ended }: Expiry): string {
  return `expired at ${ended.map(formatInstant).join(', ')}`
}
