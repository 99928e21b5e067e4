import { A2mError } from '../protocol/errors.js'
import { printError } from '../protocol/rpc.js'
import type { Served } from '../protocol/serve.js'
import { compatible } from '../protocol/versions.js'
import type { JsonReply } from './replies.js'
import type { Through } from './through.js'

/** What serves one protocol version: a memory behind this edge, or a server elsewhere that requests are passed on to. */
export type Version = ({ readonly served: Served } | { readonly through: Through }) & {
  /** Headers on every answer of a version that is to go. */
  readonly retirement?: Readonly<Record<string, string>> | undefined
}

/** A version, and the name that the configuration has for it. */
export interface NamedVersion {
  readonly name: string
  readonly version: Version
}

/** Versions by their names; the first serves requests that name none. */
export type Versions = ReadonlyMap<string, Version>

/** Picks what serves a version header (§8.3.2); undefined where that version is not spoken. */
export type PickVersion = (header: string | undefined) => NamedVersion | undefined

/** Throws where the map is empty. */
export function createVersions(versions: Versions): PickVersion {
  const named = [...versions].map(([name, version]) => ({ name, version }))
  const [first] = named
  if (first === undefined) throw new Error('no protocol version to serve')
  const byName = new Map(named.map((one) => [one.name, one]))
  return (header) => {
    if (header === undefined) return first
    return byName.get(header) ?? named.find(({ name }) => compatible(name, header))
  }
}

/** The label of requests for a version that is not spoken. */
export const OTHER_VERSION = 'other'

/** Such a refusal is a JSON-RPC error although no message has been read. */
export function versionReply(versions: Versions): JsonReply {
  const supported = [...versions.keys()]
  const message = `this server speaks ${supported.join(', ')}`
  const error = new A2mError('PROTOCOL_NOT_SUPPORTED', message, { supported })
  return { status: 400, body: printError(null, error) }
}
