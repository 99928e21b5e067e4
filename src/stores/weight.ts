import { fadedWeight } from '../protocol/salience.js'
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

function weight(standing: Standing, { halfLife, now }: Fading): number {
  const { salience, accessed_at, created_at } = standing
  return fadedWeight({ salience, idle: now - (accessed_at ?? created_at), halfLife })
}
