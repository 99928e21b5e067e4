import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Identity } from '../identity/identity.js'
import { Cancellation } from '../protocol/cancellation.js'
import { copyWith } from '../protocol/copy.js'
import type { Caller } from '../protocol/memory.js'
import type { Served } from '../protocol/serve.js'
import { VERSION_HEADER } from '../protocol/versions.js'
import { announcesMore, isCompressed, isJson, readBody } from './body.js'
import type { Dispatch, Outgoing } from './dispatch.js'
import type { Drain } from './drain.js'
import { headerValues, oneHeader } from './guard.js'
import type { Direct } from './listener.js'
import type { PassThrough } from './pass-through.js'
import { rateLimitHeaders } from './rate-limit.js'
import {
  aboutVersion,
  type JsonReply,
  NOT_JSON,
  NOT_POST,
  type Refused,
  refuse,
  TOO_LARGE,
  UNAUTHORIZED,
} from './replies.js'
import type { TlsDoor } from './tls.js'
import {
  createVersions,
  type NamedVersion,
  OTHER_VERSION,
  type Versions,
  versionReply,
} from './versions.js'

export interface RpcRouteOptions {
  readonly path: string
  readonly versions: Versions
  readonly identity: Identity
  readonly tls?: TlsDoor | undefined
  readonly dispatch: Dispatch
  readonly passThrough: PassThrough
  readonly maxBodyBytes: number
  readonly drain: Drain
  readonly refused: Refused
}

/**
 * The endpoint that takes JSON-RPC (§8.3). It speaks to Node's own request and response, since every call passes here and a
 * framework's would cost more than the rest of the edge.
 */
export function createRpcRoute(options: RpcRouteOptions): Direct {
  const admit = createAdmission(options)
  const proceed = (exchange: Begun, caller: Caller | undefined): void => {
    const admitted = admit(exchange.request, caller)
    announceEnd(exchange.response, admitted.spoken)
    if ('reply' in admitted) turnAway(options, exchange, admitted)
    else answer(options, exchange, admitted)
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
  { identity, drain, tls }: RpcRouteOptions,
  { request, response }: Begun,
  then: (caller: Caller | undefined) => void,
): void {
  const authorization = headerValues(request.rawHeaders, 'authorization')
  const certificate = tls?.certificateOf(request)
  const caller = identity.authenticate({ authorization, certificate })
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
  readonly spoken: NamedVersion
}

/** `version` is the name of what was asked for, where it came to that, and `spoken` the same where it is spoken. */
interface TurnedAway {
  readonly reply: JsonReply
  readonly version?: string
  readonly spoken?: NamedVersion
}

function turnAway(
  { refused }: RpcRouteOptions,
  { response }: Begun,
  { reply, version, spoken }: TurnedAway,
): void {
  refuse(response, reply, aboutVersion(refused, version ?? spoken?.name))
}

/** A version that is to go says so with every answer. */
function announceEnd(response: ServerResponse, spoken: NamedVersion | undefined): void {
  const retirement = spoken?.version.retirement
  if (retirement === undefined) return
  for (const [name, value] of Object.entries(retirement)) response.setHeader(name, value)
}

/** Decides from the headers alone, in the order that §6.1 and §8.3 set. */
function createAdmission(
  options: RpcRouteOptions,
): (request: IncomingMessage, caller: Caller | undefined) => Admitted | TurnedAway {
  const pickVersion = createVersions(options.versions)
  const wrongVersion = versionReply(options.versions)
  return (request, caller) => {
    if (caller === undefined) return { reply: UNAUTHORIZED }
    const spoken = pickVersion(oneHeader(request, VERSION_HEADER))
    if (spoken === undefined) return { reply: wrongVersion, version: OTHER_VERSION }
    if (!isReadable(request, spoken)) return { reply: NOT_JSON, spoken }
    if (announcesMore(request, options.maxBodyBytes)) return { reply: TOO_LARGE, spoken }
    return { caller, spoken }
  }
}

/** What is passed on is not read here; but how it is packed would not travel along. */
function isReadable(request: IncomingMessage, { version }: NamedVersion): boolean {
  return 'served' in version ? isJson(request) : !isCompressed(request)
}

interface Begun {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

function answer(options: RpcRouteOptions, exchange: Begun, { caller, spoken }: Admitted): void {
  const { name, version } = spoken
  if ('served' in version) {
    take(options, { exchange, caller, spoken, served: version.served })
  } else {
    const { request, response } = exchange
    const { through } = version
    void options.passThrough({ request, response, caller, version: name, through })
  }
}

interface Taken extends Admitted {
  readonly exchange: Begun
  readonly served: Served
}

function take(options: RpcRouteOptions, taken: Taken): void {
  const { exchange, spoken } = taken
  const { request, response } = exchange
  if (request.headers.expect !== undefined) response.writeContinue()
  void readBody(request, options.maxBodyBytes).then((body) => {
    if (body === 'too_large') {
      turnAway(options, exchange, { reply: TOO_LARGE, spoken })
    } else if (body !== 'cut') return call(options, taken, body)
    return undefined
  })
}

async function call(options: RpcRouteOptions, taken: Taken, bytes: Buffer): Promise<void> {
  const { exchange, caller, spoken, served } = taken
  const { request, response } = exchange
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
    version: spoken.name,
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
  const headers = { 'content-type': 'application/json', 'content-length': reply.bytes }
  const limits = rateLimitHeaders(reply.standings)
  response.writeHead(200, limits === undefined ? headers : copyWith(headers, limits))
  response.end(reply.text, encodingOf(reply))
}

/** Text of as many bytes as units is ASCII, which is the same in Latin-1: Node copies that, and encodes UTF-8 letter by letter. */
function encodingOf({ text, bytes }: Outgoing): BufferEncoding {
  return text.length === bytes ? 'latin1' : 'utf8'
}
