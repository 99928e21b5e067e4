import type { CryptoKey, KeyObject } from 'jose'
import { LRUCache } from 'lru-cache'
import { invalidParams, messageOf } from '../protocol/errors.js'
import { ownerKey } from '../protocol/scope.js'
import type { Clock } from '../protocol/time.js'
import { KeyKeeper } from './signing-key-keeper.js'
import { publicKeys, type SigningAlgorithm, type SigningKey } from './signing-keys.js'

export interface SignerOptions {
  /** The file that the keys are kept in. */
  readonly path: string
  /** What tokens and the upstreams' configuration call this gateway. */
  readonly issuer: string
  readonly algorithm: SigningAlgorithm
  /** Ms that a token is good for. */
  readonly lifetime: number
  /** Ms that a key signs. */
  readonly rotate: number
  readonly clock: Clock
  /** Makes the `jti` of tokens. */
  readonly newId: () => string
  /** `look` leaves the file as it is. */
  readonly purpose: 'serve' | 'look'
  readonly events: SignerEvents
}

/** What a signer does that somebody may want to count or log. */
export interface SignerEvents {
  readonly signed: (upstream: string) => void
  readonly rotated: () => void
  /** Keys could not be kept, so that the ones in use stay in use; for people. */
  readonly failed: (problem: string) => void
}

/** Whom a token is shown to: the upstream's name here, and what it calls itself. */
export interface Verifier {
  readonly upstream: string
  readonly audience: string
}

/** The public keys as they are published, and for how many seconds they may be kept. */
export interface PublishedKeys {
  readonly body: string
  readonly maxAge: number
}

/** Says to upstreams, by short-lived JWTs, whom the gateway acts for. */
export interface Signer {
  readonly issuer: string
  /** A token for one subject, good for half of its life at least. The same one is given again meanwhile, then at once. */
  token(verifier: Verifier, subject: string): string | Promise<string>
  published(): PublishedKeys
  /** `unknown` where somebody only looks and none have been made yet: nobody can know them. */
  readonly keys: 'kept' | 'unknown'
  /** When the key that signs first did, in ms since 1970. */
  readonly keySince: number
  /** Rotates the keys where that is due. Never rejects: what went wrong is told, and tried again the next time. */
  turn(): Promise<void>
}

/** How far the clock of an upstream may be from ours before it refuses a token, in ms; it may allow for more itself. */
const SKEW = 30_000
/** How much longer a key is published than its last token is good for, in ms: upstreams allow for skew of their own. */
const LEEWAY = 300_000
/** Tokens that are kept, of all upstreams and owners. */
const MOST_TOKENS = 10_000
/** A longer subject makes a header that servers refuse. */
const LONGEST_SUBJECT = 1024
const LONGEST_CACHE = 300_000

interface Kept {
  readonly token: string
  /** Between these instants it is given out, in ms since 1970. */
  readonly from: number
  readonly until: number
}

/** Opens the keys, or makes them. Rejects with an Error that names the file where that cannot be done. */
export async function createSigner(options: SignerOptions): Promise<Signer> {
  const { path, algorithm, rotate, lifetime, clock, purpose } = options
  const settle = Math.min(LONGEST_CACHE, rotate / 2)
  const keeper = await KeyKeeper.open({
    rules: { algorithm, rotate, settle: settle * 2 },
    ...{ path, clock, purpose, keepFor: lifetime + LEEWAY },
  })
  const maxAge = Math.floor(settle / 1000)
  return new JwtSigner(options, { keeper, maxAge, jose: await import('jose') })
}

interface SignerParts {
  readonly keeper: KeyKeeper
  /** In seconds. */
  readonly maxAge: number
  readonly jose: typeof import('jose')
}

class JwtSigner implements Signer {
  readonly #options: SignerOptions
  readonly #parts: SignerParts
  readonly #kept = new LRUCache<string, Kept>({ max: MOST_TOKENS })
  readonly #signing = new Map<string, Promise<string>>()
  #turning: Promise<void> | undefined
  #key:
    | { readonly of: SigningKey; readonly ready: Promise<CryptoKey | KeyObject | Uint8Array> }
    | undefined

  constructor(options: SignerOptions, parts: SignerParts) {
    this.#options = options
    this.#parts = parts
  }

  get issuer(): string {
    return this.#options.issuer
  }

  get keys(): 'kept' | 'unknown' {
    return this.#parts.keeper.keys
  }

  get keySince(): number {
    return this.#parts.keeper.ring.current.since
  }

  token(verifier: Verifier, subject: string): string | Promise<string> {
    const name = ownerKey(subject) + verifier.upstream
    const kept = this.#kept.get(name)
    const now = this.#options.clock.now()
    if (kept !== undefined && now >= kept.from && now < kept.until) return kept.token
    const signing = this.#signing.get(name) ?? this.#renew(name, verifier, subject)
    this.#signing.set(name, signing)
    return signing
  }

  published(): PublishedKeys {
    const { keeper, maxAge } = this.#parts
    return { body: JSON.stringify(publicKeys(keeper.ring)), maxAge }
  }

  /** However many ask for it at once, what was done is told once. */
  turn(): Promise<void> {
    this.#turning ??= this.#turn().finally(() => {
      this.#turning = undefined
    })
    return this.#turning
  }

  async #turn(): Promise<void> {
    const { events } = this.#options
    try {
      if ((await this.#parts.keeper.turn()) === 'rotate') events.rotated()
    } catch (thrown) {
      events.failed(messageOf(thrown))
    }
  }

  async #renew(name: string, verifier: Verifier, subject: string): Promise<string> {
    const { clock, lifetime, events } = this.#options
    try {
      const from = clock.now()
      const token = await this.#sign(verifier.audience, subject, from)
      this.#kept.set(name, { token, from, until: from + lifetime / 2 })
      events.signed(verifier.upstream)
      return token
    } finally {
      this.#signing.delete(name)
    }
  }

  async #sign(audience: string, subject: string, now: number): Promise<string> {
    if (subject.length > LONGEST_SUBJECT) {
      throw invalidParams(`owner: at most ${LONGEST_SUBJECT} characters where tokens name it`)
    }
    const { issuer, lifetime, newId } = this.#options
    const { SignJWT } = this.#parts.jose
    const { current } = this.#parts.keeper.ring
    const seconds = Math.floor(now / 1000)
    return new SignJWT({ jti: newId() })
      .setProtectedHeader({ alg: current.algorithm, kid: current.kid, typ: 'JWT' })
      .setIssuer(issuer)
      .setSubject(subject)
      .setAudience(audience)
      .setIssuedAt(seconds)
      .setNotBefore(seconds - SKEW / 1000)
      .setExpirationTime(Math.floor((now + lifetime) / 1000))
      .sign(await this.#private(current))
  }

  #private(of: SigningKey): Promise<CryptoKey | KeyObject | Uint8Array> {
    if (this.#key?.of !== of) {
      const { importJWK } = this.#parts.jose
      this.#key = { of, ready: importJWK({ ...of.jwk }, of.algorithm) }
    }
    return this.#key.ready
  }
}
