import type { Caller } from '../protocol/memory.js'
import type { Clock } from '../protocol/time.js'
import { createFindKey, type KeyEntry } from './api-keys.js'
import type { AccessOf } from './caller.js'
import type { Certificate, FindHolder } from './certificates.js'
import { digestHex } from './keys.js'
import type { Tokens } from './tokens.js'

/** What a request shows of who sends it. */
export interface Presented {
  /** The value of every `Authorization` header, usually one or none. */
  readonly authorization: readonly string[]
  /** What the client showed when it connected, where the listener asks for that and one of its authorities vouches for it. */
  readonly certificate?: Certificate | undefined
}

/** Tells who is calling over the network. */
export interface Identity {
  /**
   * Undefined means that the request is to be refused; there is no caller that it falls back to. A promise comes only where
   * something must first be worked out or asked for, as for a token that was not seen before; it never rejects.
   */
  authenticate(presented: Presented): Caller | undefined | Promise<Caller | undefined>
}

/** What a deployment accepts as credentials. */
export interface Credentials {
  readonly keys: readonly KeyEntry[]
}

export interface IdentityOptions {
  /** Asked once for each key and each token. Without it everyone may do everything. */
  readonly accessOf?: AccessOf
  readonly clock: Pick<Clock, 'now'>
  readonly tokens?: Tokens | undefined
  readonly findHolder?: FindHolder | undefined
}

/** Without credentials configured everyone is the anonymous caller; such a server may listen on loopback only. */
export function createIdentity(
  credentials: Credentials | undefined,
  { accessOf = () => undefined, clock, tokens, findHolder }: IdentityOptions,
): Identity {
  if (credentials === undefined) return { authenticate: () => ANONYMOUS }
  const findKey = createFindKey(credentials.keys, accessOf)
  return {
    authenticate({ authorization, certificate }) {
      const now = clock.now()
      if (certificate !== undefined && authorization.length === 0)
        return findHolder?.(certificate, now)
      const credential = bearer(authorization)
      if (credential === undefined) return undefined
      const digest = digestHex(credential)
      return findKey(digest, now) ?? tokens?.authenticate({ token: credential, digest, now })
    },
  }
}

/** A caller on this machine who has shown no credentials: it sees the records that belong to no one. */
const ANONYMOUS: Caller = { name: 'anonymous', roles: [], scope: { kind: 'ownerless' } }

/** The one caller of a server on stdio, who is taken at its word for any owner (§6). `roles` are those the config gives it. */
export function stdioCaller(roles: readonly string[]): Caller {
  return { name: 'stdio', roles, scope: { kind: 'all' } }
}

const BEARER = /^bearer +([\w\-.~+/]+=*)$/i
/** The longest `Authorization` header that is looked at, in bytes. */
const LONGEST = 8192

/** More than one header is ambiguous and therefore none. */
function bearer(authorization: readonly string[]): string | undefined {
  const [header] = authorization
  if (header === undefined || authorization.length > 1 || header.length > LONGEST) return undefined
  return BEARER.exec(header)?.[1]
}
