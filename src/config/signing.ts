import type { z } from 'zod'
import type { Config, UpstreamConfig } from './config.js'
import { ConfigError } from './errors.js'
import { duration, lifetime, oneOf, strict, text } from './values.js'
import { servedViews } from './views.js'

/** How the gateway signs for the owners that it acts for, where upstreams have `owner: token`. Times in ms. */
export interface SigningConfig {
  /** What tokens call this gateway. */
  readonly issuer: string
  /** The subject of tokens with which the gateway asks about no owner's records, such as what an upstream can do. */
  readonly subject: string
  /** How long a token is good for. */
  readonly lifetime: number
  /** How long a key signs. */
  readonly rotate: number
  readonly algorithm: 'EdDSA' | 'ES256'
}

/** The keys' own file in `data_dir`. */
export const SIGNING_FILE = 'signing-keys.json'

const SHORTEST_LIFE = 2000
const LONGEST_LIFE = 3_600_000

export const signing = strict({
  issuer: text.optional(),
  subject: text.optional(),
  lifetime: duration
    .refine((ms) => ms >= SHORTEST_LIFE && ms <= LONGEST_LIFE, 'must be from 2s to 1h')
    .default(300_000),
  rotate: lifetime.default(30 * 86_400_000),
  algorithm: oneOf(['EdDSA', 'ES256']).default('EdDSA'),
})

/** `name` is the gateway's. */
export function toSigning(file: z.output<typeof signing>, name: string): SigningConfig {
  const { issuer = name, subject = issuer, lifetime, rotate, algorithm } = file
  if (rotate < lifetime) {
    throw new ConfigError(['signing', 'rotate'], 'must not be shorter than lifetime')
  }
  return { issuer, subject, lifetime, rotate, algorithm }
}

/** Whom tokens for an upstream are for: its `audience`, or else the origin of its URL. Undefined where it is shown none. */
export function audienceOf({ owner, audience, connect }: UpstreamConfig): string | undefined {
  if (owner !== 'token' || connect.kind !== 'http') return undefined
  return audience ?? new URL(connect.url).origin
}

/**
 * Whether an upstream can be asked about one owner's records alone: it is shown tokens of owners, and no credential that would
 * speak for everybody.
 */
export function asksForOneOwner({ owner, connect }: UpstreamConfig): boolean {
  return owner === 'token' && connect.kind === 'http' && connect.bearer === undefined
}

/** Whether anybody is shown tokens: an upstream of a federation that serves a version, or one that a version is passed on to. */
export function signsTokens(config: Config): boolean {
  const upstreams = servedViews(config).flatMap((view) => view.config.federation.upstreams)
  const passed = config.versions.map(({ serves }) => serves)
  return (
    upstreams.some(({ owner }) => owner === 'token') ||
    passed.some((serves) => serves.kind === 'upstream' && serves.owner === 'token')
  )
}

/** What `owner: token` demands of an upstream. */
export function checkTokens(upstreams: Config['federation']['upstreams']): void {
  for (const { name, owner, audience, connect } of upstreams) {
    const path = ['upstreams', name]
    if (owner === 'token' && connect.kind !== 'http') {
      throw new ConfigError(
        [...path, 'owner'],
        'token goes with url: a child or a store of its own is asked by nobody else, so that parameter keeps owners apart',
      )
    }
    if (owner !== 'token' && audience !== undefined) {
      throw new ConfigError(
        [...path, 'audience'],
        'is whom tokens are for; it goes with owner: token',
      )
    }
  }
}
