import { type Access, allowsMethod, covers, type Grant, type Place } from './access.js'
import { type KeyRange, keyRange } from './key-prefix.js'
import type { Method } from './methods.js'

/** How far what a caller is granted reaches. A record is in it where one grant by itself covers its tier, its upstream and its key. */
export class Reach {
  readonly #grants: readonly Grant[]
  /** Tells this reach from every other of the same definitions. */
  readonly name: string

  constructor(grants: readonly Grant[]) {
    this.#grants = grants
    this.name = JSON.stringify(grants.map(({ role }) => role))
  }

  covers(place: Place): boolean {
    return this.#grants.some((grant) => covers(grant, place))
  }

  /** Whether one grant covers both: what moves is taken at one and put down at the other. */
  coversBoth(one: Place, other: Place): boolean {
    return this.#grants.some((grant) => covers(grant, one) && covers(grant, other))
  }

  /** Where the keys are that it covers in a tier of an upstream; undefined: wherever. It must cover the tier there. */
  keysAt(tier: string, upstream: string): readonly KeyRange[] | undefined {
    const there = this.#grants.filter((grant) => covers(grant, { tier, upstream }))
    if (there.some(({ keyPrefixes }) => keyPrefixes === undefined)) return undefined
    return there.flatMap(({ keyPrefixes = [] }) => keyPrefixes.map(keyRange))
  }
}

/** What of a caller's access is for one method; undefined where that reaches everywhere. */
export function reachFor(access: Access, method: Method): Reach | undefined {
  if (access === undefined) return undefined
  const grants = access.filter((grant) => allowsMethod(grant, method))
  return grants.some(isBoundless) ? undefined : new Reach(grants)
}

function isBoundless({ tiers, upstreams, keyPrefixes }: Grant): boolean {
  return tiers === undefined && upstreams === undefined && keyPrefixes === undefined
}

/** Whether a caller may call a method at all. What there is for it everyone may ask. */
export function mayCall(access: Access, method: Method): boolean {
  if (access === undefined || method === 'memory/describe') return true
  return access.some((grant) => allowsMethod(grant, method))
}

/** Whether what a caller is granted takes no writes. Who is granted nothing is refused as such. */
export function isReadOnly(access: Access): boolean {
  if (access === undefined || access.length === 0) return false
  return access.every((grant) => grant.access === 'read')
}
