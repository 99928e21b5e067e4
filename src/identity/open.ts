import type { Clock } from '../protocol/time.js'
import type { KeyEntry } from './api-keys.js'
import type { AccessOf } from './caller.js'
import { type CertificateRule, type CommonNames, createFindHolder } from './certificates.js'
import { createIdentity, type Identity } from './identity.js'
import type { Issuer } from './issuer.js'
import { parseKeySet, readKeyFile, readUrl } from './jwks.js'
import type { Jose } from './jwt.js'
import { KeySet } from './key-set.js'
import type { Tokens } from './tokens.js'

/** Everything that a deployment accepts as credentials. */
export interface AllCredentials {
  readonly keys: readonly KeyEntry[]
  readonly jwt: readonly Issuer[]
  readonly mtls: CertificateRule | undefined
  /** How far an issuer's clock may be from ours, in ms. */
  readonly leeway: number
}

/** What is told of tokens, certificates and key sets. Must not throw. */
export interface IdentityEvents {
  readonly keySetRead: (issuer: string) => void
  readonly keySetFailed: (issuer: string, reason: string, keys: 'last_good' | 'none') => void
  /** `reason` holds nothing of the token. */
  readonly tokenRefused: (reason: string, issuer: string | undefined) => void
  readonly certificateRefused: (reason: string, names: CommonNames) => void
}

export interface OpenIdentityOptions {
  readonly credentials: AllCredentials | undefined
  readonly accessOf: AccessOf
  readonly clock: Clock
  readonly events: IdentityEvents
  /** The one that this is to replace: key sets that both name are taken over with what they hold. */
  readonly before?: OpenIdentity
}

/** An identity with the key sets that it reads, by what they are read from and how. */
export interface OpenIdentity extends Identity {
  readonly keySets: ReadonlyMap<string, KeySet>
}

/** A key set in a file that cannot be used; `index` is the issuer's place in the list. */
export class KeyFileError extends Error {
  readonly index: number

  constructor(index: number, message: string) {
    super(message)
    this.name = 'KeyFileError'
    this.index = index
  }
}

/**
 * Loads what tokens are checked with, where there are issuers, and begins to read their keys: those in files are waited for,
 * those elsewhere are not. Rejects with a `KeyFileError` where a file cannot be used.
 */
export async function openIdentity(options: OpenIdentityOptions): Promise<OpenIdentity> {
  const { credentials, accessOf, clock } = options
  const issuers = credentials?.jwt ?? []
  const mtls = credentials?.mtls
  const { tokens, keySets } = await openTokens(issuers, options)
  const findHolder =
    mtls && createFindHolder(mtls, { accessOf, refused: options.events.certificateRefused })
  return { ...createIdentity(credentials, { accessOf, clock, tokens, findHolder }), keySets }
}

interface OpenTokens {
  readonly tokens: Tokens | undefined
  readonly keySets: ReadonlyMap<string, KeySet>
}

async function openTokens(
  issuers: readonly Issuer[],
  options: OpenIdentityOptions,
): Promise<OpenTokens> {
  if (issuers.length === 0) return { tokens: undefined, keySets: new Map() }
  const [jose, { createJwtTokens }] = await Promise.all([import('jose'), import('./jwt.js')])
  const trusted = issuers.map((issuer) => ({ issuer, keys: keySetOf(issuer, jose, options) }))
  await Promise.all(trusted.map(({ issuer, keys }, index) => begin(keys, issuer, index)))
  const { accessOf, events, credentials } = options
  const tokens = createJwtTokens({
    jose,
    issuers: trusted,
    leeway: credentials?.leeway ?? 0,
    accessOf,
    refused: events.tokenRefused,
  })
  return { tokens, keySets: new Map(trusted.map(({ issuer, keys }) => [sourceOf(issuer), keys])) }
}

async function begin(keys: KeySet, { keys: source }: Issuer, index: number): Promise<void> {
  const read = keys.ready()
  if (source.kind === 'uri') return
  await read
  const { reason } = keys
  if (reason !== undefined) throw new KeyFileError(index, `${source.path} ${reason}`)
}

/** Two issuers of one key set have one of it each, since failures are told of by issuer. */
function sourceOf({ issuer, keys, cache, stale, cooldown, timeout }: Issuer): string {
  return JSON.stringify([issuer, keys, cache, stale, cooldown, timeout])
}

function keySetOf(issuer: Issuer, jose: Jose, options: OpenIdentityOptions): KeySet {
  const known = options.before?.keySets.get(sourceOf(issuer))
  if (known !== undefined) return known
  const { events, clock } = options
  const { keys, timeout, cache, stale, cooldown } = issuer
  return new KeySet({
    read: () => (keys.kind === 'uri' ? readUrl(keys.url, timeout) : readKeyFile(keys.path)),
    parse: (text) => jose.createLocalJWKSet(parseKeySet(text)),
    clock,
    cache,
    stale,
    cooldown,
    events: {
      read: () => events.keySetRead(issuer.issuer),
      failed: (reason, keys) => events.keySetFailed(issuer.issuer, reason, keys),
    },
  })
}
