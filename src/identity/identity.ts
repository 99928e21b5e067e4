import { timingSafeEqual } from 'node:crypto'
import type { Access } from '../protocol/access.js'
import type { Caller, Scope } from '../protocol/memory.js'
import { digest } from './keys.js'

/** One API key as a config names it: `sha256` in hexadecimal of the key, `owner` "*" for every owner. */
export interface KeyEntry {
  readonly name: string
  readonly owner: string
  readonly sha256: string
  readonly roles: readonly string[]
}

/** What a deployment accepts as credentials. */
export interface Credentials {
  readonly keys: readonly KeyEntry[]
}

/** What a request shows of who sends it. */
export interface Presented {
  /** The value of every `Authorization` header, usually one or none. */
  readonly authorization: readonly string[]
}

/** Tells who is calling over the network. */
export interface Identity {
  /**
   * Undefined means that the request is to be refused; there is no caller that it falls back to. A promise comes only where
   * something must first be worked out or asked for, as for a token that was not seen before.
   */
  authenticate(presented: Presented): Caller | undefined | Promise<Caller | undefined>
}

/** What roles amount to; undefined where everyone may do everything. */
export type AccessOf = (roles: readonly string[]) => Access

/**
 * Without credentials configured everyone is the anonymous caller; such a server may listen on loopback only. `accessOf` is
 * asked once for each key.
 */
export function createIdentity(
  credentials: Credentials | undefined,
  accessOf: AccessOf = () => undefined,
): Identity {
  if (credentials === undefined) return { authenticate: anonymous }
  const known = byDigest(credentials.keys, accessOf)
  return {
    authenticate({ authorization }) {
      const key = bearer(authorization)
      return key === undefined ? undefined : lookUp(known, digest(key))
    },
  }
}

/** A caller on this machine who has shown no credentials: it sees the records that belong to no one. */
function anonymous(): Caller {
  return { name: 'anonymous', roles: [], scope: { kind: 'ownerless' } }
}

/** The one caller of a server on stdio, who is taken at its word for any owner (§6). `roles` are those the config gives it. */
export function stdioCaller(roles: readonly string[]): Caller {
  return { name: 'stdio', roles, scope: { kind: 'all' } }
}

interface Known {
  readonly digest: Buffer
  readonly caller: Caller
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
    known.set(sha256, { digest: Buffer.from(sha256, 'hex'), caller: callerOf(entry, accessOf) })
  }
  return known
}

function callerOf({ name, owner, roles }: KeyEntry, accessOf: AccessOf): Caller {
  const scope: Scope = owner === '*' ? { kind: 'all' } : { kind: 'owners', owners: [owner] }
  const access = accessOf(roles)
  return access === undefined ? { name, roles, scope } : { name, roles, scope, access }
}

const BEARER = /^bearer +([\w\-.~+/]+=*)$/i

/** More than one header is ambiguous and therefore none. */
function bearer(authorization: readonly string[]): string | undefined {
  const [header] = authorization
  if (header === undefined || authorization.length > 1) return undefined
  return BEARER.exec(header)?.[1]
}

/** The index is by digest, of which a caller cannot choose a prefix; the comparison after it takes the same time for all. */
function lookUp(known: ReadonlyMap<string, Known>, presented: Buffer): Caller | undefined {
  const candidate = known.get(presented.toString('hex'))
  if (candidate === undefined) return undefined
  return timingSafeEqual(candidate.digest, presented) ? candidate.caller : undefined
}
