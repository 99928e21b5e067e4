import { timingSafeEqual } from 'node:crypto'
import type { Caller } from '../protocol/memory.js'
import { type AccessOf, callerOf, type Person } from './caller.js'

/** One API key as a config names it: `sha256` in hexadecimal of the key, `owner` "*" for every owner. */
export interface KeyEntry extends Person {
  readonly sha256: string
  /** Wall time in ms from which on the key is worth nothing; undefined: never. */
  readonly expires?: number | undefined
}

/** The holder of the key of this digest, in lower-case hexadecimal, at an instant of wall time in ms. */
export type FindKey = (digest: string, now: number) => Caller | undefined

interface Known {
  readonly sha256: string
  readonly caller: Caller
  readonly expires: number
}

/** Throws one Error that names the key that cannot be used. */
export function createFindKey(keys: readonly KeyEntry[], accessOf: AccessOf): FindKey {
  const known = byDigest(keys, accessOf)
  return (digest, now) => {
    const found = known.get(digest)
    if (found === undefined || !isSame(found.sha256, digest) || now >= found.expires)
      return undefined
    return found.caller
  }
}

function byDigest(keys: readonly KeyEntry[], accessOf: AccessOf): ReadonlyMap<string, Known> {
  const known = new Map<string, Known>()
  for (const entry of keys) {
    const sha256 = entry.sha256.toLowerCase()
    if (!/^[\da-f]{64}$/.test(sha256)) {
      throw new Error(`key ${entry.name}: sha256 must be 64 hexadecimal digits`)
    }
    const twin = known.get(sha256)
    if (twin !== undefined) {
      throw new Error(`keys ${twin.caller.name} and ${entry.name} have one sha256: make one anew`)
    }
    const { expires = Number.POSITIVE_INFINITY } = entry
    known.set(sha256, { sha256, caller: callerOf(entry, accessOf), expires })
  }
  return known
}

/** The index is by digest, of which a caller cannot choose a prefix; the comparison after it takes the same time for all. */
function isSame(known: string, presented: string): boolean {
  return timingSafeEqual(Buffer.from(known, 'latin1'), Buffer.from(presented, 'latin1'))
}
