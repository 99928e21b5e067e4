import { resolve } from 'node:path'
import { z } from 'zod'
import { type ApiKey, apiKey, toKey } from './api-key.js'
import { type JwtConfig, type JwtFile, jwt, toJwt } from './jwt.js'
import { readKeysFile } from './keys-file.js'
import { duration, expected, oneOf, strict, text } from './values.js'

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
  /** Those of the configuration, then those of `keysFile`. */
  readonly keys: readonly ApiKey[]
  readonly keysFile: { readonly path: string; readonly keys: number } | undefined
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
  keys_file: text.optional(),
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
  const path = file.keys_file && resolve(cwd, file.keys_file)
  const inFile = path === undefined ? [] : readKeysFile(path)
  return {
    keys: [...keys.map(toKey), ...inFile],
    keysFile: path === undefined ? undefined : { path, keys: inFile.length },
    jwt: issuers.map((issuer: JwtFile, index: number) => toJwt(issuer, { cwd, index })),
    mtls: certificates,
    leeway,
    ownerMismatch: file.owner_mismatch,
  }
}

export function toTls({ cert, key, ca, min_version }: TlsFile, cwd: string): TlsConfig {
  return {
    cert: resolve(cwd, cert),
    key: resolve(cwd, key),
    ca: ca === undefined ? undefined : resolve(cwd, ca),
    minVersion: `TLSv${min_version}`,
  }
}
