import type { ApiKey } from './api-key.js'
import type { AuthConfig, TlsConfig } from './auth.js'
import { ConfigError } from './errors.js'
import type { JwtConfig } from './jwt.js'
import { keysFileError } from './keys-file.js'

interface Door {
  readonly auth: AuthConfig | undefined
  readonly tls: TlsConfig | undefined
}

/** What the ways to show who one is demand of each other. Throws a `ConfigError` at the first that does not hold. */
export function checkAuth({ auth, tls }: Door): void {
  if (auth !== undefined) {
    refuseNoWay(auth)
    refuseTwinKeys(auth)
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
function refuseTwinKeys(auth: AuthConfig): void {
  const byName = new Map<string, ApiKey>()
  const byDigest = new Map<string, ApiKey>()
  for (const [index, key] of auth.keys.entries()) {
    const twin = byDigest.get(key.sha256)
    if (twin !== undefined) {
      throw keyError(auth, [index, 'sha256'], `this is also the key of ${twin.name}`)
    }
    byDigest.set(key.sha256, key)
    const other = byName.get(key.name)
    if (other === undefined) byName.set(key.name, key)
    const part = other && PARTS.find((one) => asSet(key[one]) !== asSet(other[one]))
    if (part === undefined) continue
    const others = part === 'owner' ? 'owners' : 'roles'
    throw keyError(
      auth,
      [index, part],
      `another key of ${key.name} has other ${others}; keys of one name are one caller's and agree`,
    )
  }
}

const PARTS = ['owner', 'roles'] as const

/** Keys of the configuration come first, those of the file after them, a line each. */
function keyError(
  { keys, keysFile }: AuthConfig,
  [index, part]: readonly [number, string],
  problem: string,
): ConfigError {
  const line = index - (keys.length - (keysFile?.keys ?? 0)) + 1
  if (keysFile === undefined || line < 1) {
    return new ConfigError(['auth', 'keys', index, part], problem)
  }
  return keysFileError({ path: keysFile.path, line }, `${part}: ${problem}`)
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
