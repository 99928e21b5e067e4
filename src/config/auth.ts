import { resolve } from 'node:path'
import { z } from 'zod'
import { parseInstant } from '../protocol/time.js'
import { type JwtConfig, type JwtFile, jwt, toJwt } from './jwt.js'
import { duration, expected, oneOf, strict, text } from './values.js'

/** Every owner, where an owner is expected. */
export const EVERY_OWNER = '*'

/** One API key. Several of one name are one caller, whose keys are being changed. */
export interface ApiKey {
  readonly name: string
  /** An owner, several that it may act for, or "*" for every owner. */
  readonly owner: string | readonly string[]
  /** The key's digest in lower-case hexadecimal. */
  readonly sha256: string
  readonly roles: readonly string[]
  /** Wall time in ms from which on the key is worth nothing; undefined: never. */
  readonly expires?: number | undefined
}

/** How callers are known by the certificates that they show. */
export interface MtlsConfig {
  /** The part of a certificate that names the owner. */
  readonly owner: CertificatePart
  /** What that part must begin with, and what is taken off it. */
  readonly strip: string
  readonly roles: readonly string[]
}

export const CERTIFICATE_PARTS = ['san_uri', 'san_dns', 'san_email', 'common_name'] as const
export type CertificatePart = (typeof CERTIFICATE_PARTS)[number]

/** Who may call. Absent: everybody on this machine. */
export interface AuthConfig {
  readonly keys: readonly ApiKey[]
  readonly jwt: readonly JwtConfig[]
  readonly mtls: MtlsConfig | undefined
  /** How far an issuer's clock may be from ours, in ms. */
  readonly leeway: number
  readonly ownerMismatch: 'deny' | 'ignore'
}

/** The certificate that the listener shows, and whose clients' it asks for. Absolute paths of PEM files. */
export interface TlsConfig {
  readonly cert: string
  readonly key: string
  readonly ca: string | undefined
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3'
}

const owners = z
  .union([text, z.array(text).min(1)], {
    error: ({ input }) =>
      input === undefined
        ? 'is missing'
        : 'must be an owner, a list of owners, or "*" for every owner',
  })
  .refine(
    (owner) => typeof owner === 'string' || !owner.includes(EVERY_OWNER),
    '"*" is every owner, and stands alone',
  )
  .refine(
    (owner) => typeof owner === 'string' || new Set(owner).size === owner.length,
    'an owner stands twice',
  )

const instant = z
  .string('must be text; put it in quotes')
  .refine(
    (written) => parseInstant(written) !== undefined,
    'must be an instant such as "2027-01-31T00:00:00Z"',
  )
  .transform((written) => parseInstant(written))

const apiKey = strict({
  name: text,
  owner: owners,
  sha256: z
    .string('must be text; put it in quotes')
    .regex(
      /^[0-9a-fA-F]{64}$/,
      'must be a SHA-256 in 64 hexadecimal digits; `a2m-gateway keys new` makes one',
    )
    .toLowerCase(),
  roles: z.array(text).default([]),
  expires: instant.optional(),
})

const mtls = strict({
  owner: oneOf(CERTIFICATE_PARTS),
  strip: z.string('must be text; put it in quotes').default(''),
  roles: z.array(text).default([]),
})

const MOST_LEEWAY = 300_000

export const auth = strict({
  keys: z
    .array(apiKey, expected('must be a list of keys'))
    .min(1, 'must hold at least one key')
    .optional(),
  jwt: z
    .array(jwt, expected('must be a list of issuers'))
    .min(1, 'must hold at least one issuer')
    .optional(),
  mtls: mtls.optional(),
  leeway: duration.refine((ms) => ms <= MOST_LEEWAY, 'must be at most 5m').default(30_000),
  owner_mismatch: oneOf(['deny', 'ignore']).default('deny'),
})

/** `listen.tls`. */
export const tls = strict({
  cert: text,
  key: text,
  ca: text.optional(),
  min_version: oneOf(['1.2', '1.3']).default('1.2'),
})

type AuthFile = z.output<typeof auth>
type TlsFile = z.output<typeof tls>

export function toAuth(file: AuthFile, cwd: string): AuthConfig {
  const { keys = [], jwt: issuers = [], mtls: certificates, leeway } = file
  return {
    keys: keys.map(toKey),
    jwt: issuers.map((issuer: JwtFile, index: number) => toJwt(issuer, { cwd, index })),
    mtls: certificates,
    leeway,
    ownerMismatch: file.owner_mismatch,
  }
}

function toKey({ expires, ...key }: NonNullable<AuthFile['keys']>[number]): ApiKey {
  return expires === undefined ? key : { ...key, expires }
}

export function toTls({ cert, key, ca, min_version }: TlsFile, cwd: string): TlsConfig {
  return {
    cert: resolve(cwd, cert),
    key: resolve(cwd, key),
    ca: ca === undefined ? undefined : resolve(cwd, ca),
    minVersion: `TLSv${min_version}`,
  }
}
