import type { ApiKey, AuthConfig, TlsConfig } from './auth.js'
import { ConfigError } from './errors.js'
import type { JwtConfig } from './jwt.js'

interface Door {
  readonly auth: AuthConfig | undefined
  readonly tls: TlsConfig | undefined
}

/** What the ways to show who one is demand of each other. Throws a `ConfigError` at the first that does not hold. */
export function checkAuth({ auth, tls }: Door): void {
  if (auth !== undefined) {
    refuseNoWay(auth)
    refuseTwinKeys(auth.keys)
    refuseTwinIssuers(auth.jwt)
  }
  if (auth?.mtls !== undefined && tls?.ca === undefined) {
    throw new ConfigError(
      ['auth', 'mtls'],
      'needs listen.tls with a ca: the certificates that vouch for those of callers',
    )
  }
  if (auth?.mtls === undefined && tls?.ca !== undefined) {
    throw new ConfigError(
      ['listen', 'tls', 'ca'],
      'is for the certificates of callers; add auth.mtls, or leave it out',
    )
  }
}

function refuseNoWay({ keys, jwt, mtls }: AuthConfig): void {
  if (keys.length > 0 || jwt.length > 0 || mtls !== undefined) return
  throw new ConfigError(['auth'], 'lets nobody in; it needs keys, jwt or mtls')
}

/** Several keys of one name are one caller's, who is the same with each; one key is never two callers'. */
function refuseTwinKeys(keys: readonly ApiKey[]): void {
  const byName = new Map<string, ApiKey>()
  const byDigest = new Map<string, ApiKey>()
  for (const [index, key] of keys.entries()) {
    const path = ['auth', 'keys', index]
    const twin = byDigest.get(key.sha256)
    if (twin !== undefined) {
      throw new ConfigError([...path, 'sha256'], `this is also the key of ${twin.name}`)
    }
    byDigest.set(key.sha256, key)
    const other = byName.get(key.name)
    if (other === undefined) byName.set(key.name, key)
    else refuseOtherCaller(key, other, path)
  }
}

function refuseOtherCaller(key: ApiKey, other: ApiKey, path: readonly (string | number)[]): void {
  for (const part of ['owner', 'roles'] as const) {
    if (asSet(key[part]) === asSet(other[part])) continue
    throw new ConfigError(
      [...path, part],
      `another key of ${key.name} has other ${part === 'owner' ? 'owners' : 'roles'}; keys of one name are one caller's and agree`,
    )
  }
}

function asSet(names: string | readonly string[]): string {
  return typeof names === 'string' ? JSON.stringify([names]) : JSON.stringify([...names].sort())
}

function refuseTwinIssuers(issuers: readonly JwtConfig[]): void {
  const known = new Set<string>()
  for (const [index, { issuer }] of issuers.entries()) {
    if (known.has(issuer)) {
      throw new ConfigError(['auth', 'jwt', index, 'issuer'], `${issuer} stands here twice`)
    }
    known.add(issuer)
  }
}
