import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Drain } from './drain.js'
import { type Admits, createGuard, type Guard, isLoopback } from './guard.js'
import { FORBIDDEN, NOT_FOUND, type Refused, refusalReply, refuse, sendJson } from './replies.js'
import type { TlsDoor } from './tls.js'

/** How long the other side of a connection may take, in ms. */
interface Patience {
  /** For the headers of a request. */
  readonly headersMs: number
  /** For a whole request, headers and body. */
  readonly requestMs: number
  /** For anything at all while a request is on the connection; longer than a call takes. Cuts who does not read answers. */
  readonly silenceMs: number
}

/** Where something listens: `url` has the port that was given, with a slash at the end. */
export interface Address {
  readonly host: string
  readonly port: number
  readonly url: string
}

/** Something that can listen for HTTP; making it does not open a port. */
export interface HttpListener {
  listen(host: string, port: number): Promise<Address>
  /** Takes no more connections, lets what is being worked on finish, and cuts what is left after `limitMs`. */
  close(limitMs: number): Promise<void>
}

/** Handles a request without the framework; returns false where it is not meant for it. */
export type Direct = (request: IncomingMessage, response: ServerResponse) => boolean

export interface ListenerOptions {
  readonly guard: Guard
  readonly tls?: TlsDoor | undefined
  readonly patience: Patience
  readonly drain: Drain
  /** Asked before any route. */
  readonly direct?: Direct
  readonly refused: Refused
}

/** A listener to add routes to: JSON errors throughout, the same guard before every route, known or not. */
export interface Listener extends HttpListener {
  readonly app: FastifyInstance
}

/** How long half-sent requests may still come in after closing has begun, and a last answer go out, in ms. */
const GRACE_MS = 250

export function createListener(options: ListenerOptions): Listener {
  const { drain, tls } = options
  let admits: Admits = createGuard(options.guard, 'loopback')
  const app = Fastify({
    logger: false,
    return503OnClosing: false,
    clientErrorHandler: (error, socket) => refuseMalformed(error, socket, options.refused),
    // No route has a schema, and what would compile one takes a third of the framework's time to load.
    schemaController: { compilersFactory: { buildValidator: unused, buildSerializer: unused } },
    frameworkErrors: (_error, _request, reply) => {
      sendJson(reply.raw, refusalReply(400, 'bad request'))
    },
    serverFactory: (handler) =>
      serverFor(options, (request, response) => {
        if (drain.draining || tls?.isOutdated(request)) response.setHeader('connection', 'close')
        if (!admits(request)) return refuse(response, FORBIDDEN, options.refused)
        if (!options.direct?.(request, response)) handler(request, response)
      }),
  })
  answerErrorsAsJson(app)
  return {
    app,
    async listen(host, port) {
      await app.listen({ host, port })
      const address = addressOf(app.server, tls === undefined ? 'http' : 'https')
      admits = createGuard(options.guard, isLoopback(address.host) ? 'loopback' : 'network')
      return address
    },
    close: (limitMs) => closeGracefully(app, drain, limitMs),
  }
}

function unused(): never {
  throw new Error('a route has a schema, and nothing here compiles it')
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void

/** Who asks before sending content may or may not send it when refused, so such a connection cannot be used again. */
function serverFor({ patience, tls }: ListenerOptions, handler: Handler): Server {
  const { headersMs, requestMs, silenceMs } = patience
  const settings = {
    headersTimeout: Math.min(headersMs, requestMs),
    requestTimeout: requestMs,
    connectionsCheckingInterval: Math.ceil(Math.min(1000, headersMs / 4)),
    keepAliveTimeout: 72_000,
    noDelay: true,
  }
  const server =
    tls === undefined
      ? createServer(settings, handler)
      : tls.createServer({ ...settings, handshakeTimeout: headersMs }, handler)
  server.timeout = silenceMs
  server.on('checkContinue', (request, response) => {
    response.setHeader('connection', 'close')
    handler(request, response)
  })
  return server
}

const MALFORMED: Readonly<Record<string, readonly [status: number, reason: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout'],
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large'],
}

/** Answers bytes that are no HTTP request, or that came too slowly, and hangs up. */
function refuseMalformed(error: NodeJS.ErrnoException, socket: Duplex, refused: Refused): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const [status, reason] = MALFORMED[error.code ?? ''] ?? [400, 'Bad Request']
  const body = JSON.stringify({ error: reason.toLowerCase() })
  refused(status)
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    () => socket.destroy(),
  )
  void pause(GRACE_MS).then(() => socket.destroy())
}

function answerErrorsAsJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.setNotFoundHandler((_request, reply) => {
    reply.hijack()
    sendJson(reply.raw, NOT_FOUND)
  })
  app.setErrorHandler((_error, _request, reply) => {
    reply.hijack()
    sendJson(reply.raw, refusalReply(500, 'internal error'))
  })
}

function addressOf(server: Server, scheme: 'http' | 'https'): Address {
  const bound = server.address()
  if (bound === null || typeof bound === 'string') throw new Error('not bound to a port')
  const { address: host, port, family } = bound
  return { host, port, url: `${scheme}://${family === 'IPv6' ? `[${host}]` : host}:${port}/` }
}

async function closeGracefully(app: FastifyInstance, drain: Drain, limitMs: number): Promise<void> {
  drain.begin()
  const closed = app.close()
  await Promise.race([closed, quiet(drain), pause(limitMs)])
  app.server.closeAllConnections()
  await closed
}

/** Waits for what is being worked on; half-sent requests get a moment to become whole. */
async function quiet(drain: Drain): Promise<void> {
  await drain.empty()
  await pause(GRACE_MS)
  await drain.empty()
}

function pause(milliseconds: number): Promise<void> {
  return setTimeout(milliseconds, undefined, { ref: false })
}
