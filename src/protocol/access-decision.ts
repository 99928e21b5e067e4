import type { Named } from './access-named.js'
import type { Reach } from './access-reach.js'

/** A tier and where its records are: first where it is written to, then where it is only read. Undefined is some that is not known. */
export interface TierPlaces {
  readonly name: string | undefined
  readonly upstreams: readonly (string | undefined)[]
}

export interface Bounds {
  /** All tiers that there are. */
  readonly tiers: readonly TierPlaces[]
  /** How far the caller's roles reach in this method, and in whatever they let it know of; undefined: everywhere. */
  readonly reach: Reach | undefined
  readonly seen: Reach | undefined
}

/**
 * The first thing named in a call that is beyond the caller: of tiers that it does not see at all before others. Those do not exist
 * for it; anything else is denied to it.
 */
export function firstBeyond(
  names: readonly Named[],
  { tiers, reach, seen }: Bounds,
): { readonly why: 'unknown' | 'denied'; readonly named: Named } | undefined {
  const unknown = names.find(
    ({ tier }) => tier !== undefined && !isIn({ path: '', tier }, tiers, seen),
  )
  if (unknown !== undefined) return { why: 'unknown', named: unknown }
  const denied = names.find((named) => !isIn(named, tiers, reach))
  return denied && { why: 'denied', named: denied }
}

function isIn(
  { tier, key }: Named,
  tiers: readonly TierPlaces[],
  reach: Reach | undefined,
): boolean {
  return tiers.some(
    ({ name, upstreams }) =>
      (tier === undefined || tier === name) &&
      upstreams.some((upstream) => reach?.covers({ tier: name, upstream, key }) ?? true),
  )
}

/** Whether a record with that key, or without one, may be written to a tier. */
export function takes(
  reach: Reach | undefined,
  { name, upstreams: [home] }: TierPlaces,
  key: string | undefined,
): boolean {
  return reach === undefined || reach.covers({ tier: name, upstream: home, key })
}
