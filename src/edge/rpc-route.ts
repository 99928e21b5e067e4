import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Identity } from '../identity/identity.js'
import { Cancellation } from '../protocol/cancellation.js'
import type { Caller } from '../protocol/memory.js'
import type { Served } from '../protocol/serve.js'
import { VERSION_HEADER } from '../protocol/versions.js'
import { announcesMore, isJson, readBody } from './body.js'
import type { Dispatch, Outgoing } from './dispatch.js'
import type { Drain } from './drain.js'
import { headerValues } from './guard.js'
import type { Direct } from './listener.js'
import { type JsonReply, NOT_JSON, NOT_POST, refuse, TOO_LARGE, UNAUTHORIZED } from './replies.js'
import { createVersions, versionReply } from './versions.js'

export interface RpcRouteOptions {
  readonly path: string
  readonly versions: ReadonlyMap<string, Served>
  readonly identity: Identity
  readonly dispatch: Dispatch
  readonly maxBodyBytes: number
  readonly drain: Drain
  readonly refused: (status: number) => void
}

/**
 * The endpoint that takes JSON-RPC (§8.3). It speaks to Node's own request and response, since every call passes here and a
 * framework's would cost more than the rest of the edge.
 */
export function createRpcRoute(options: RpcRouteOptions): Direct {
  const admit = createAdmission(options)
  const proceed = (exchange: Begun, caller: Caller | undefined): void => {
    const admitted = admit(exchange.request, caller)
    if ('status' in admitted) refuse(exchange.response, admitted, options.refused)
    else answer(options, { caller: admitted.caller, served: admitted.served, ...exchange })
  }
  return (request, response) => {
    if (!isAt(options.path, request.url)) return false
    const exchange = { request, response }
    if (request.method !== 'POST') refuse(response, NOT_POST, options.refused)
    else whenKnown(options, exchange, (caller) => proceed(exchange, caller))
    return true
  }
}

/** Who most callers are is known at once; what must first be asked for, a new key of an issuer say, is waited for. */
function whenKnown(
  { identity, drain }: RpcRouteOptions,
  { request, response }: Begun,
  then: (caller: Caller | undefined) => void,
): void {
  const authorization = headerValues(request.rawHeaders, 'authorization')
  const caller = identity.authenticate({ authorization })
  if (!(caller instanceof Promise)) {
    then(caller)
    return
  }
  drain.enter()
  void caller
    .catch(() => undefined)
    .then((known) => {
      drain.leave()
      if (!response.destroyed) then(known)
    })
}

function isAt(path: string, url: string | undefined): boolean {
  return url === path || url?.startsWith(`${path}?`) === true
}

interface Admitted {
  readonly caller: Caller
  readonly served: Served
}

/** Decides from the headers alone, in the order that §6.1 and §8.3 set. */
function createAdmission(
  options: RpcRouteOptions,
): (request: IncomingMessage, caller: Caller | undefined) => Admitted | JsonReply {
  const pickVersion = createVersions(options.versions)
  const wrongVersion = versionReply(options.versions)
  return (request, caller) => {
    if (caller === undefined) return UNAUTHORIZED
    const served = pickVersion(oneHeader(request, VERSION_HEADER))
    if (served === undefined) return wrongVersion
    if (!isJson(request)) return NOT_JSON
    return announcesMore(request, options.maxBodyBytes) ? TOO_LARGE : { caller, served }
  }
}

/** Node joins a header that comes twice, except for a few that it never reads here. */
function oneHeader({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value : value?.join(',')
}

interface Begun {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

type Exchange = Admitted & Begun

function answer(options: RpcRouteOptions, exchange: Exchange): void {
  const { request, response } = exchange
  if (request.headers.expect !== undefined) response.writeContinue()
  void readBody(request, options.maxBodyBytes).then((body) => {
    if (body === 'too_large') refuse(response, TOO_LARGE, options.refused)
    else if (body !== 'cut') return call(options, exchange, body)
    return undefined
  })
}

async function call(options: RpcRouteOptions, exchange: Exchange, bytes: Buffer): Promise<void> {
  const { request, response, caller, served } = exchange
  const closed = new Cancellation()
  options.drain.enter()
  response.on('close', () => {
    options.drain.leave()
    if (!response.writableFinished) closed.cancel()
  })
  const traceparent = oneHeader(request, 'traceparent')
  const reply = await options.dispatch({
    bytes,
    served,
    caller,
    connection: { closed },
    traceparent,
  })
  send(response, reply, options.drain)
}

function send(response: ServerResponse, reply: Outgoing | undefined, drain: Drain): void {
  if (response.destroyed) return
  if (drain.draining) response.setHeader('connection', 'close')
  if (reply === undefined) {
    response.writeHead(202, { 'content-length': 0 }).end()
    return
  }
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': reply.bytes })
  response.end(reply.text, encodingOf(reply))
}

/** Text of as many bytes as units is ASCII, which is the same in Latin-1: Node copies that, and encodes UTF-8 letter by letter. */
function encodingOf({ text, bytes }: Outgoing): BufferEncoding {
  return text.length === bytes ? 'latin1' : 'utf8'
}
