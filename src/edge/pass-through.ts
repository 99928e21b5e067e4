import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { CallReport } from '../protocol/call-report.js'
import { Cancellation } from '../protocol/cancellation.js'
import { A2mError, Fault, toA2mError } from '../protocol/errors.js'
import type { Caller } from '../protocol/memory.js'
import { printError } from '../protocol/rpc.js'
import { VERSION_HEADER } from '../protocol/versions.js'
import type { PassedReply } from '../transport/stream-through.js'
import { type DispatchOptions, tell } from './dispatch.js'
import type { Drain } from './drain.js'
import { oneHeader } from './guard.js'
import { rateLimitHeaders } from './rate-limit.js'
import {
  aboutVersion,
  type JsonReply,
  type Refused,
  refuse,
  sendJson,
  TOO_LARGE,
} from './replies.js'
import { Denied, denial, type Leave, leaveOf, type Through } from './through.js'
import { traceOf } from './trace.js'

/** One request to be passed on. */
export interface ThroughExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly caller: Caller
  readonly through: Through
  /** The name of the version that it is for. */
  readonly version: string
}

export interface PassThroughOptions extends DispatchOptions {
  readonly maxBodyBytes: number
  readonly drain: Drain
  readonly refused: Refused
}

/** Passes a request on as it is and its reply back, both as they come. Never rejects. */
export type PassThrough = (exchange: ThroughExchange) => Promise<void>

/** Makes one report of each request that is passed on, with its bytes; what they say is nobody's business here. */
export function createPassThrough(options: PassThroughOptions): PassThrough {
  return async (exchange) => {
    const { request, response, version } = exchange
    const closed = new Cancellation()
    options.drain.enter()
    response.on('close', () => {
      options.drain.leave()
      if (!response.writableFinished) closed.cancel()
    })
    const trace = traceOf(oneHeader(request, 'traceparent')) ?? options.newTrace()
    const leave = await leaveOf(exchange.through, exchange.caller, trace)
    if (leave instanceof Denied) {
      refuse(response, denial(leave), aboutVersion(options.refused, version))
    } else await new Passing(options, { ...exchange, trace }, closed).run(leave)
  }
}

/** `trace` ties what is written of a request in one place to what is written elsewhere. */
interface Traced extends ThroughExchange {
  readonly trace: string
}

class Passing {
  readonly #options: PassThroughOptions
  readonly #exchange: Traced
  readonly #closed: Cancellation
  readonly #start: number
  readonly #at: number
  #bytesIn = 0
  #bytesOut = 0

  constructor(options: PassThroughOptions, exchange: Traced, closed: Cancellation) {
    this.#options = options
    this.#exchange = exchange
    this.#closed = closed
    this.#start = options.clock.monotonic()
    this.#at = options.clock.now()
  }

  async run(leave: Leave): Promise<void> {
    const { request, response } = this.#exchange
    this.#options.observer.started()
    if (request.headers.expect !== undefined) response.writeContinue()
    try {
      const reply = await this.#pass(leave)
      this.#tellLimits(leave, 'used')
      await this.#answer(reply)
      await this.#conclude(undefined)
      response.end()
    } catch (thrown) {
      if (!response.headersSent) this.#tellLimits(leave, afterFailure(thrown))
      await this.#refuse(thrown)
    }
    request.resume()
  }

  #tellLimits({ settle }: Leave, outcome: 'used' | 'given_back'): void {
    const headers = settle && rateLimitHeaders(settle(outcome))
    const { response } = this.#exchange
    for (const [name, value] of Object.entries(headers ?? {})) {
      if (value !== undefined) response.setHeader(name, value)
    }
  }

  #pass({ bearer }: Leave): Promise<PassedReply> {
    const { request, through, version } = this.#exchange
    const { headers } = request
    return through.upstream.pass({
      body: this.#body(request),
      length: lengthOf(headers['content-length']),
      version: oneHeader(request, VERSION_HEADER) ?? version,
      contentType: headers['content-type'],
      accept: oneHeader(request, 'accept'),
      bearer,
      deadline: this.#start + this.#options.requestMs,
      cancellation: this.#closed,
    })
  }

  /** Whoever stops reading it must not take the connection down, on which a refusal is still to go out. */
  async *#body(request: IncomingMessage): AsyncGenerator<Buffer> {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      this.#bytesIn += chunk.length
      if (this.#bytesIn > this.#options.maxBodyBytes) throw new TooLarge()
      yield chunk
    }
  }

  /** Its length is not told: the end must not have gone out before what it cost is kept. */
  async #answer({ status, contentType, contentEncoding, body }: PassedReply): Promise<void> {
    const { response } = this.#exchange
    if (this.#options.drain.draining) response.setHeader('connection', 'close')
    response.writeHead(status, {
      ...(contentType === undefined ? {} : { 'content-type': contentType }),
      ...(contentEncoding === undefined ? {} : { 'content-encoding': contentEncoding }),
    })
    await pipeline(body, (chunks: Readable) => this.#counted(chunks), response, { end: false })
  }

  async *#counted(chunks: Readable): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      this.#bytesOut += chunk.length
      yield chunk
    }
  }

  async #refuse(thrown: unknown): Promise<void> {
    const tooLarge = this.#bytesIn > this.#options.maxBodyBytes
    const error = tooLarge
      ? new A2mError('INVALID_REQUEST', 'content too large')
      : toA2mError(thrown)
    await this.#conclude(error)
    const { response } = this.#exchange
    if (response.headersSent) response.destroy()
    else sendJson(response, tooLarge ? TOO_LARGE : badGateway(thrown, error))
  }

  async #conclude(error: A2mError | undefined): Promise<void> {
    const { observer, keep } = this.#options
    const report = this.#report(error)
    tell(observer, report)
    await keep?.(report)
  }

  #report(error: A2mError | undefined): CallReport {
    const { caller, version, trace } = this.#exchange
    return {
      method: undefined,
      version,
      error,
      ms: this.#options.clock.monotonic() - this.#start,
      at: this.#at,
      bytesIn: this.#bytesIn,
      bytesOut: this.#bytesOut,
      asks: [],
      usage: undefined,
      caller,
      trace,
      ending: this.#closed.cancelled ? 'hung_up' : 'answered',
    }
  }
}

/** What may have been done all the same is not given back. */
function afterFailure(thrown: unknown): 'used' | 'given_back' {
  return thrown instanceof Fault && thrown.outcome === 'unknown' ? 'used' : 'given_back'
}

/** More came than was announced, or than may come without being announced. */
class TooLarge extends Error {}

/** Node has checked that it is a number, and that no more comes. */
function lengthOf(header: string | undefined): number | undefined {
  return header === undefined ? undefined : Number(header)
}

function badGateway(thrown: unknown, error: A2mError): JsonReply {
  const late = thrown instanceof Fault && thrown.kind === 'timeout'
  return { status: late ? 504 : 502, body: printError(null, error) }
}
