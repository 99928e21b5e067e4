import { z } from 'zod'
import { parseInstant } from '../protocol/time.js'
import { PROTOCOL } from '../protocol/versions.js'
import { ConfigError } from './errors.js'
import { expected, httpUrl, oneOf, strict, text, whole } from './values.js'

/** What serves a version: a federation of this gateway, or a server that requests are streamed through to. */
export type ServesConfig =
  | { readonly kind: 'federation'; readonly federation: string }
  | ElsewhereConfig

/** A server that is no upstream of a federation. */
export interface ElsewhereConfig {
  readonly kind: 'upstream'
  readonly url: string
  readonly bearer: string | undefined
  /** `parameter`: it trusts the gateway for every owner; `token`: it is shown a token for the caller's owner. */
  readonly owner: 'parameter' | 'token'
  /** Whom those tokens are for. */
  readonly audience: string
  /** Requests under way at once; more of them wait. */
  readonly connections: number
}

/** One protocol version and what serves it. Dates in ms since 1970. */
export interface VersionConfig {
  /** As it stands in the header. */
  readonly name: string
  readonly serves: ServesConfig
  /** From when on clients are told to leave it; undefined: they are not. */
  readonly deprecated: number | undefined
  /** From when on it may be gone; undefined: nobody knows. */
  readonly sunset: number | undefined
  /** Where people read more about that. */
  readonly link: string | undefined
}

/** The name of the federation whose upstreams and tiers stand at the top of the file. */
export const DEFAULT_FEDERATION = 'default'

/** What a header can carry and a list of versions can name; see RFC 9110 for its letters. */
const NAME = /^[\w!#$%&'*+.^`|~/-]{1,64}$/
const BAD_NAME =
  'a version is named as its header names it, such as a2m/0.1: letters, digits and signs, 64 at most'

const date = z
  .string(expected('must be a date such as 2027-01-31; put it in quotes'))
  .transform(readDate)
  .refine(
    (instant) => instant !== undefined,
    'must be a date such as 2027-01-31, or an instant such as 2027-01-31T12:00:00Z',
  )
  .transform((instant) => instant ?? 0)

/** A day begins at midnight UTC. */
function readDate(written: string): number | undefined {
  return parseInstant(/^\d{4}-\d\d-\d\d$/.test(written) ? `${written}T00:00:00Z` : written)
}

const version = strict({
  default: z.boolean('must be true or false').default(false),
  federation: text.optional(),
  url: httpUrl.optional(),
  auth: strict({ bearer: text }).optional(),
  owner: oneOf(['parameter', 'token']).optional(),
  audience: text.optional(),
  connections: whole(1, 1024).optional(),
  deprecated: date.optional(),
  sunset: date.optional(),
  link: httpUrl.optional(),
})

/** `versions:` as it is written; `a2m/0.1:` with nothing behind it is this federation. */
export const versions = z
  .record(
    z.string().regex(NAME),
    z.preprocess((value) => value ?? {}, version),
    {
      error: ({ code }) =>
        code === 'invalid_key' ? BAD_NAME : 'must be a mapping of versions to what serves them',
    },
  )
  .optional()

type VersionFile = z.output<typeof version>

/** Versions in the order of the file, but for the default one, which comes first. Without any, one is spoken as ever. */
export function toVersions(
  written: readonly (readonly [string, VersionFile])[] | undefined,
): readonly VersionConfig[] {
  if (written === undefined) return [plainVersion(PROTOCOL)]
  const defaults = written.filter(([, file]) => file.default).map(([name]) => name)
  const [first = written[0]?.[0], second] = defaults
  if (first === undefined) {
    throw new ConfigError(['versions'], 'must name at least one, or be left out')
  }
  if (second !== undefined) {
    throw new ConfigError(
      ['versions', second, 'default'],
      `${first} is the default already: only one version serves requests that name none`,
    )
  }
  const all = written.map(([name, file]) => toVersion(name, file))
  return [...all.filter(({ name }) => name === first), ...all.filter(({ name }) => name !== first)]
}

function plainVersion(name: string): VersionConfig {
  const serves = { kind: 'federation', federation: DEFAULT_FEDERATION } as const
  return { name, serves, deprecated: undefined, sunset: undefined, link: undefined }
}

function toVersion(name: string, file: VersionFile): VersionConfig {
  const { deprecated, sunset, link } = file
  refuseStrangers(name, file)
  return { name, serves: toServes(file), deprecated, sunset, link: link && new URL(link).href }
}

/** Keys that mean something for a server elsewhere only. */
const ELSEWHERE = ['auth', 'owner', 'audience', 'connections'] as const

function refuseStrangers(name: string, file: VersionFile): void {
  if (file.url === undefined) {
    const stranger = ELSEWHERE.find((key) => file[key] !== undefined)
    if (stranger === undefined) return
    throw new ConfigError(['versions', name, stranger], 'goes with url, not with federation')
  }
  if (file.audience !== undefined && file.owner !== 'token') {
    const problem = 'is whom tokens are for; it goes with owner: token'
    throw new ConfigError(['versions', name, 'audience'], problem)
  }
  if (file.federation === undefined) return
  throw new ConfigError(['versions', name], 'needs one of federation and url, and one only')
}

function toServes(file: VersionFile): ServesConfig {
  const { url, auth, owner = 'parameter', audience, connections = 64, federation } = file
  if (url === undefined) return { kind: 'federation', federation: federation ?? DEFAULT_FEDERATION }
  const whom = audience ?? new URL(url).origin
  return { kind: 'upstream', url, bearer: auth?.bearer, owner, audience: whom, connections }
}
