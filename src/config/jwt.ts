import { resolve } from 'node:path'
import { z } from 'zod'
import { ConfigError } from './errors.js'
import { duration, expected, lifetime, oneOf, strict, text } from './values.js'

/**
 * Every algorithm that a token may be signed with: an issuer alone can sign, so whoever can check a token cannot make one.
 * With the HS ones they could, and `none` is no signature.
 */
const ALGORITHMS = [
  'EdDSA',
  'Ed25519',
  'ES256',
  'ES384',
  'ES512',
  'PS256',
  'PS384',
  'PS512',
  'RS256',
  'RS384',
  'RS512',
] as const

/** Where a claim stands: its name, or the names on the way to it. */
export type ClaimPath = readonly [string, ...string[]]

/** One issuer whose tokens are taken. Times in ms. */
export interface JwtConfig {
  /** Exactly as tokens name it in `iss`. */
  readonly issuer: string
  /** A token is for one of these. */
  readonly audience: readonly [string, ...string[]]
  readonly keys:
    | { readonly kind: 'uri'; readonly url: string }
    | { readonly kind: 'file'; readonly path: string }
  readonly algorithms: readonly string[]
  readonly ownerClaim: ClaimPath
  /** Whether "*" in that claim is every owner; otherwise such a token is refused. */
  readonly everyOwner: 'refused' | 'allowed'
  readonly nameClaim: ClaimPath
  readonly rolesClaim: ClaimPath | undefined
  /** What every caller of this issuer has, beside those of the claim. */
  readonly roles: readonly string[]
  /** Put before names and owners, so that those of two issuers are not taken for each other. */
  readonly prefix: string
  /** How long its keys are believed without being read again. */
  readonly cache: number
  /** How much longer while they cannot be read. */
  readonly stale: number
  /** The shortest time between two readings for keys that were not found. */
  readonly cooldown: number
  /** How long a reading may take. */
  readonly timeout: number
}

const claim = z
  .union(
    [text, z.array(text).min(1)],
    expected('must be the name of a claim, or the list of names that leads to it'),
  )
  .transform((path): ClaimPath => listOf(path))

const jwksUri = text
  .refine(URL.canParse, 'must be an https:// URL')
  .refine((url) => !URL.canParse(url) || isTrustworthy(new URL(url)), {
    error:
      'must be an https:// URL; http:// would let anyone on the way put keys of their own in, and is for this machine alone',
  })
  .refine(
    (url) => !URL.canParse(url) || new URL(url).username + new URL(url).password === '',
    'must not carry a user or password; a key set is public',
  )

function isTrustworthy({ protocol, hostname }: URL): boolean {
  const local = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname)
  return protocol === 'https:' || (protocol === 'http:' && local)
}

const algorithm = z
  .string()
  .refine(
    (name) => !/^(hs\d+|none)$/i.test(name),
    'is not one that only the issuer can sign with; use an asymmetric one such as EdDSA, ES256 or RS256',
  )
  .pipe(oneOf(ALGORITHMS))

export const jwt = strict({
  issuer: text,
  audience: z
    .union([text, z.array(text).min(1)], expected('must be a text or a list of texts'))
    .transform(listOf),
  jwks_uri: jwksUri.optional(),
  jwks_file: text.optional(),
  algorithms: z
    .array(algorithm, expected('must be a list such as [EdDSA]'))
    .min(1, 'must hold at least one algorithm'),
  owner_claim: claim.prefault('sub'),
  every_owner: oneOf(['refused', 'allowed']).default('refused'),
  name_claim: claim.prefault('sub'),
  roles_claim: claim.optional(),
  roles: z.array(text).default([]),
  prefix: z.string('must be text; put it in quotes').default(''),
  cache: duration.optional(),
  stale: lifetime.default(3_600_000),
  cooldown: duration.default(30_000),
  timeout: duration.default(3000),
})

export type JwtFile = z.output<typeof jwt>

function listOf(one: string | readonly string[]): readonly [string, ...string[]] {
  const [first = '', ...rest] = typeof one === 'string' ? [one] : one
  return [first, ...rest]
}

/** A file is cheap to look at: it is read again as soon as it is a second old. */
const CACHE = { uri: 600_000, file: 1000 } as const

interface Place {
  readonly cwd: string
  readonly index: number
}

export function toJwt(file: JwtFile, place: Place): JwtConfig {
  const keys = keysOf(file, place)
  return {
    issuer: file.issuer,
    audience: file.audience,
    keys,
    algorithms: file.algorithms,
    ownerClaim: file.owner_claim,
    everyOwner: file.every_owner,
    nameClaim: file.name_claim,
    rolesClaim: file.roles_claim,
    roles: file.roles,
    prefix: file.prefix,
    cache: file.cache ?? CACHE[keys.kind],
    stale: file.stale,
    cooldown: file.cooldown,
    timeout: file.timeout,
  }
}

function keysOf({ jwks_uri, jwks_file }: JwtFile, { cwd, index }: Place): JwtConfig['keys'] {
  if (jwks_uri !== undefined && jwks_file === undefined) return { kind: 'uri', url: jwks_uri }
  if (jwks_file !== undefined && jwks_uri === undefined) {
    return { kind: 'file', path: resolve(cwd, jwks_file) }
  }
  throw new ConfigError(
    ['auth', 'jwt', index],
    "needs one of jwks_uri and jwks_file, and one only: where the issuer's public keys are",
  )
}
