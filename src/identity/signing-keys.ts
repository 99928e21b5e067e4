/** How tokens are signed. */
export type SigningAlgorithm = 'EdDSA' | 'ES256'

/** A private key as JWK (RFC 7517), without what is said about it. */
export interface PrivateJwk {
  readonly kty: string
  readonly crv: string
  readonly x: string
  readonly y?: string
  readonly d: string
}

/** One key pair of the gateway's. */
export interface SigningKey {
  /** Its thumbprint (RFC 7638). */
  readonly kid: string
  readonly algorithm: SigningAlgorithm
  /** In ms since 1970: when it was made, and from its first signature on, when that was. */
  readonly since: number
  readonly jwk: PrivateJwk
}

/** A key that signs no more. */
export interface RetiredKey extends SigningKey {
  /** In ms since 1970; by then every token that it signed has expired. */
  readonly until: number
}

/** All that are published: the one that signs, the one that will, and those whose tokens may still be about. */
export interface KeyRing {
  readonly next: SigningKey
  readonly current: SigningKey
  readonly retired: readonly RetiredKey[]
}

export interface RotationRules {
  readonly algorithm: SigningAlgorithm
  /** Ms that one key signs. */
  readonly rotate: number
  /** Ms in which everybody who keeps the published keys has read them again. */
  readonly settle: number
}

/** What is to be done about a ring at an instant. `replace`: the next key is of another algorithm than is wanted by now. */
export function dueIn(ring: KeyRing, rules: RotationRules, now: number): Due {
  const { current, next, retired } = ring
  if (next.algorithm !== rules.algorithm) return 'replace'
  const old = current.algorithm !== rules.algorithm && away(next.since, now) >= rules.settle
  if (old || away(current.since, now) >= rules.rotate) return 'rotate'
  return retired.some(({ until }) => until <= now) ? 'prune' : 'nothing'
}

export type Due = 'rotate' | 'replace' | 'prune' | 'nothing'

/** A clock that was put back leaves a key with a beginning in the future, which would otherwise never be over. */
function away(since: number, now: number): number {
  return Math.abs(now - since)
}

export interface Rotation {
  readonly fresh: SigningKey
  readonly now: number
  /** Ms in which the last token that the key signed has expired for everybody. */
  readonly keepFor: number
}

/** The next key signs from now on, a fresh one is published in its place, and the one that signed is kept. */
export function rotated(ring: KeyRing, { fresh, now, keepFor }: Rotation): KeyRing {
  const leaving = { ...ring.current, until: now + keepFor }
  return {
    next: fresh,
    current: { ...ring.next, since: now },
    retired: [leaving, ...ring.retired.filter(({ until }) => until > now)],
  }
}

/** Without the keys whose last token has expired. */
export function pruned(ring: KeyRing, now: number): KeyRing {
  return { ...ring, retired: ring.retired.filter(({ until }) => until > now) }
}

/** What may be told to anybody, as a JWK Set: the key that signs first. */
export function publicKeys({ current, next, retired }: KeyRing): { readonly keys: object[] } {
  return { keys: [current, next, ...retired].map(publicKey) }
}

function publicKey({ kid, algorithm, jwk: { d: _, ...known } }: SigningKey): object {
  return { ...known, kid, alg: algorithm, use: 'sig' }
}
