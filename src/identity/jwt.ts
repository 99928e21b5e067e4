import type { JWTHeaderParameters, JWTPayload } from 'jose'
import { LRUCache } from 'lru-cache'
import type { Caller } from '../protocol/memory.js'
import { type AccessOf, callerOf } from './caller.js'
import { personOf } from './claims.js'
import type { Issuer } from './issuer.js'
import type { KeySet } from './key-set.js'
import type { PresentedToken, Tokens } from './tokens.js'

/** The parts of jose that tokens are checked with; it is loaded only where issuers are configured. */
export type Jose = Pick<
  typeof import('jose'),
  'decodeJwt' | 'decodeProtectedHeader' | 'jwtVerify' | 'createLocalJWKSet'
>

export interface JwtOptions {
  readonly jose: Jose
  readonly issuers: readonly TrustedIssuer[]
  /** How far an issuer's clock may be from ours, in ms. */
  readonly leeway: number
  readonly accessOf: AccessOf
  /** Told why a token was refused, in words that hold nothing of it. */
  readonly refused: (reason: string, issuer: string | undefined) => void
}

export interface TrustedIssuer {
  readonly issuer: Issuer
  readonly keys: KeySet
}

/** A token that was checked. Instants are wall time in ms. */
interface Checked {
  readonly caller: Caller
  readonly from: number
  readonly until: number
  readonly keys: KeySet
  readonly generation: number
}

/** Tokens that need not be checked again; beyond that the least used are. */
const REMEMBERED = 10_000

/** Knows callers by JSON Web Tokens (RFC 7519). A token is a bearer token: until it expires it may be shown again. */
export function createJwtTokens(options: JwtOptions): Tokens {
  const issuers = new Map(options.issuers.map((one) => [one.issuer.issuer, one]))
  const checked = new LRUCache<string, Checked>({ max: REMEMBERED })
  const check = createCheck(options)
  return {
    authenticate(presented) {
      const { token, digest, now } = presented
      const known = checked.get(digest)
      if (known !== undefined && holds(known, now)) return known.caller
      const trusted = issuerOf(token, issuers, options)
      return trusted && check(presented, trusted).then((passed) => remember(digest, passed))
    },
  }

  function remember(digest: string, passed: Checked | undefined): Caller | undefined {
    if (passed === undefined) checked.delete(digest)
    else checked.set(digest, passed)
    return passed?.caller
  }
}

/** As long as the keys that it was checked with are the issuer's, and it is neither too early nor too late. */
function holds({ keys, generation, from, until }: Checked, now: number): boolean {
  return now >= from && now < until && keys.standing === generation
}

/** What a token says before anyone has vouched for it: enough to turn most of what is no good away without asking anybody. */
function issuerOf(
  token: string,
  issuers: ReadonlyMap<string, TrustedIssuer>,
  { jose, refused }: JwtOptions,
): TrustedIssuer | undefined {
  const said = unverified(token, jose)
  const trusted = said?.issuer === undefined ? undefined : issuers.get(said.issuer)
  if (said === undefined) refused('is neither a key nor a signed token', undefined)
  else if (trusted === undefined) refused('is of no issuer that is trusted', undefined)
  else if (!trusted.issuer.algorithms.includes(said.algorithm)) {
    refused('is signed in a way that its issuer may not', trusted.issuer.issuer)
  } else return trusted
  return undefined
}

interface Unverified {
  readonly algorithm: string
  readonly issuer: string | undefined
}

function unverified(token: string, jose: Jose): Unverified | undefined {
  try {
    const { alg = '' } = jose.decodeProtectedHeader(token)
    return { algorithm: alg, issuer: jose.decodeJwt(token).iss }
  } catch {
    return undefined
  }
}

type Check = (presented: PresentedToken, trusted: TrustedIssuer) => Promise<Checked | undefined>

function createCheck(options: JwtOptions): Check {
  const { leeway, accessOf, refused } = options
  return async (presented, { issuer, keys }) => {
    try {
      const { payload, generation } = await verify(presented, { issuer, keys }, options)
      const person = personOf(payload, issuer)
      if (person !== undefined) {
        return { caller: callerOf(person, accessOf), ...span(payload, leeway), keys, generation }
      }
      refused('names no owner that it may act for', issuer.issuer)
    } catch (thrown) {
      refused(reasonOf(thrown, keys), issuer.issuer)
    }
    return undefined
  }
}

/** Rejects with an error of jose's where anything of a token does not hold. */
async function verify(
  { token, now }: PresentedToken,
  { issuer, keys }: TrustedIssuer,
  { jose, leeway }: JwtOptions,
): Promise<{ readonly payload: JWTPayload; readonly generation: number }> {
  let generation = 0
  const keyFor = async (header: JWTHeaderParameters) => {
    const key = await keys.keyFor(header)
    generation = keys.generation
    return key
  }
  const { payload } = await jose.jwtVerify(token, keyFor, {
    issuer: issuer.issuer,
    audience: [...issuer.audience],
    algorithms: [...issuer.algorithms],
    clockTolerance: leeway / 1000,
    currentDate: new Date(now),
    requiredClaims: ['exp'],
  })
  return { payload, generation }
}

function span({ exp = 0, nbf }: JWTPayload, leeway: number): Pick<Checked, 'from' | 'until'> {
  const from = nbf === undefined ? Number.NEGATIVE_INFINITY : nbf * 1000 - leeway
  return { from, until: exp * 1000 + leeway }
}

/** Jose's own messages quote nothing of a token but the names of claims; what else is thrown may. */
function reasonOf(thrown: unknown, keys: KeySet): string {
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : undefined
  const reason = code === undefined ? undefined : (ofClaim(thrown, code) ?? REASONS[code])
  if (reason !== undefined) return reason
  if (keys.reason !== undefined) return `cannot be checked: the key set ${keys.reason}`
  return 'is malformed'
}

/** Why a claim is no good. Jose names only claims that it was asked to look at, never what they hold. */
function ofClaim(thrown: unknown, code: string): string | undefined {
  if (code !== 'ERR_JWT_CLAIM_VALIDATION_FAILED') return undefined
  const { claim, reason }: { claim?: unknown; reason?: unknown } = Object(thrown)
  if (reason === 'missing') return `lacks the claim ${claim}`
  if (reason === 'invalid') return `has a claim ${claim} that is no time`
  return UNFIT[String(claim)] ?? `has a claim ${claim} that does not hold`
}

const UNFIT: Readonly<Record<string, string>> = { aud: 'is for others', nbf: 'is too early' }

const REASONS: Readonly<Record<string, string>> = {
  ERR_JWT_EXPIRED: 'has expired',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'has a signature that does not hold',
  ERR_JWKS_NO_MATCHING_KEY: "is signed with a key that is not in its issuer's key set",
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: 'does not say which of several keys it is signed with',
  ERR_JOSE_NOT_SUPPORTED: 'demands something that is not supported',
}
