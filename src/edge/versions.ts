import { A2mError } from '../protocol/errors.js'
import { printError } from '../protocol/rpc.js'
import type { Served } from '../protocol/serve.js'
import { compatible } from '../protocol/versions.js'
import type { JsonReply } from './replies.js'

/** Picks what serves a version header (§8.3.2); undefined where that version is not spoken. */
export type PickVersion = (header: string | undefined) => Served | undefined

/** The first version of the map serves requests that name none. Throws where the map is empty. */
export function createVersions(versions: ReadonlyMap<string, Served>): PickVersion {
  const [first] = versions.values()
  if (first === undefined) throw new Error('no protocol version to serve')
  return (header) => {
    if (header === undefined) return first
    return versions.get(header) ?? compatibleWith(versions, header)
  }
}

function compatibleWith(versions: ReadonlyMap<string, Served>, header: string): Served | undefined {
  for (const [version, served] of versions) if (compatible(version, header)) return served
  return undefined
}

/** The one refusal over HTTP that is a JSON-RPC error although no message has been read. */
export function versionReply(versions: ReadonlyMap<string, Served>): JsonReply {
  const supported = [...versions.keys()]
  const message = `this server speaks ${supported.join(', ')}`
  const error = new A2mError('PROTOCOL_NOT_SUPPORTED', message, { supported })
  return { status: 400, body: printError(null, error) }
}
