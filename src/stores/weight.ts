import { USUAL_SALIENCE } from './rows.js'
import type { Standing } from './standings.js'

export interface Fading {
  /** In ms: how long it takes for what is not used to be worth half. */
  readonly halfLife: number
  /** In ms since 1970. */
  readonly now: number
}

/**
 * The records that are worth least come first, of equals the oldest; a group is worth what its heaviest member is. `standings` are oldest
 * first.
 */
export function lightestFirst(standings: readonly Standing[], fading: Fading): readonly Standing[] {
  const weights = new Map<string | number, number>()
  const unitOf = ({ group, seq }: Standing): string | number => group ?? seq
  for (const standing of standings) {
    const unit = unitOf(standing)
    const before = weights.get(unit) ?? -Infinity
    weights.set(unit, Math.max(before, weight(standing, fading)))
  }
  const worth = (standing: Standing): number => weights.get(unitOf(standing)) ?? -Infinity
  return standings.toSorted((left, right) => worth(left) - worth(right) || 0)
}

/** The logarithm of salience × 0.5 ^ (time since the last use / half-life), which for old records is too small for a double. */
function weight(standing: Standing, { halfLife, now }: Fading): number {
  const { salience, accessed_at, created_at } = standing
  const idle = now - (accessed_at ?? created_at)
  return Math.log2(Math.max(salience ?? USUAL_SALIENCE, 0)) - idle / halfLife
}
