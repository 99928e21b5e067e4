import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import { type Dispatcher, Pool } from 'undici'
import type { Fault } from '../protocol/errors.js'
import type { Clock } from '../protocol/time.js'
import { VERSION_HEADER } from '../protocol/versions.js'
import { Attempt } from './attempt.js'
import { cut, notConnected } from './http-exchange.js'
import { statusFault } from './http-status.js'
import type { Wait } from './wire.js'

export interface StreamThroughOptions {
  /** The endpoint, http or https. */
  readonly url: URL
  readonly clock: Clock
  /** The most requests under way at once; further ones wait, which counts against their deadlines. */
  readonly connections: number
  /** How long one connection may take to be made, in ms; 5000 unless given. */
  readonly connectTimeout?: number
}

/** One request on its way through. Nothing of the caller's headers is in it but what is named here. */
export interface Passage extends Wait {
  readonly body: AsyncIterable<Uint8Array>
  /** The length of the body in bytes, where its sender has told. */
  readonly length: number | undefined
  readonly version: string
  readonly contentType: string | undefined
  readonly accept: string | undefined
  /** The gateway's credential, on its own behalf or its caller's. */
  readonly bearer: string | undefined
}

/** A reply whose body is still to come. The body ends in a `Fault` where the deadline or a cancellation cuts it. */
export interface PassedReply {
  readonly status: number
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
  readonly body: Readable
}

/** A server that requests are handed to as they are. */
export interface StreamThrough {
  /** Rejects with a `Fault` where no reply begins. Nothing is sent twice, and no redirect is followed. */
  pass(passage: Passage): Promise<PassedReply>
  /** Cuts what is still under way. */
  close(): Promise<void>
}

/** Connects when the first request is sent. */
export function createStreamThrough(options: StreamThroughOptions): StreamThrough {
  const { url, clock, connections, connectTimeout = 5000 } = options
  const waits = { headersTimeout: 0, bodyTimeout: 0, connectTimeout }
  const pool = new Pool(url.origin, { connections, pipelining: 1, ...waits })
  const path = url.pathname + url.search
  return {
    async pass(passage) {
      const controller = new AbortController()
      const head = new Attempt<Dispatcher.ResponseData>(passage, clock)
      head.promise.catch(() => controller.abort())
      if (!head.settled) send(pool, { path, passage, head, signal: controller.signal })
      const reply = await head.promise
      keepWithin(passage, { clock, controller, body: reply.body })
      return readHead(reply)
    },
    close: () => pool.destroy(),
  }
}

interface Sending {
  readonly path: string
  readonly passage: Passage
  readonly head: Attempt<Dispatcher.ResponseData>
  readonly signal: AbortSignal
}

function send(pool: Pool, { path, passage, head, signal }: Sending): void {
  const body = Readable.from(marked(passage.body, () => head.markSent()))
  const request = { method: 'POST', path, headers: headersOf(passage), body, signal } as const
  pool.request(request).then(
    (reply) => head.succeed(reply),
    (thrown: unknown) => head.failWith(faultOf(thrown, head.sent)),
  )
}

/** A body is read only once its headers are on the way. */
async function* marked(body: AsyncIterable<Uint8Array>, begun: () => void) {
  begun()
  yield* body
}

function headersOf(passage: Passage): Record<string, string> {
  const { version, contentType, accept, length, bearer } = passage
  return {
    [VERSION_HEADER]: version,
    ...(contentType === undefined ? {} : { 'content-type': contentType }),
    ...(accept === undefined ? {} : { accept }),
    ...(length === undefined ? {} : { 'content-length': String(length) }),
    ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
  }
}

function faultOf(thrown: unknown, sent: boolean): Fault {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  return sent ? cut(error) : notConnected(error, false)
}

interface Rest {
  readonly clock: Clock
  readonly controller: AbortController
  readonly body: Readable
}

/** The deadline and the cancellation hold for the body too. */
function keepWithin(wait: Wait, { clock, controller, body }: Rest): void {
  const rest = new Attempt<void>(wait, clock)
  body.on('error', () => {})
  body.once('close', () => rest.succeed())
  rest.promise.catch((fault: Fault) => {
    body.destroy(fault)
    controller.abort()
  })
}

/** What is about the gateway's own credential, or leads elsewhere, is none of the caller's business. */
function readHead({ statusCode, headers, body }: Dispatcher.ResponseData): PassedReply {
  if (statusCode === 401 || statusCode === 407 || (statusCode >= 300 && statusCode < 400)) {
    body.on('error', () => {})
    body.destroy()
    throw statusFault(statusCode)
  }
  return {
    status: statusCode,
    contentType: single(headers, 'content-type'),
    contentEncoding: single(headers, 'content-encoding'),
    body,
  }
}

function single(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value : value?.join(', ')
}
