import { isAscii, isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { Fault } from '../protocol/errors.js'
import type { Attempt } from './attempt.js'

/** What came back whole: the status and the decoded body. */
export interface HttpReply {
  readonly status: number
  readonly text: string
}

export interface ExchangeOptions {
  readonly attempt: Attempt<HttpReply>
  readonly maxReplyBytes: number
  /** Statuses whose body is read; others end the exchange with the fault that `refuse` makes of them. */
  readonly readable: readonly number[]
  readonly refuse: (status: number) => Fault
}

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i
const NOT_HTTP: ReadonlySet<string> = new Set(['HTTPParserError', 'HeadersOverflowError'])
const RESETS: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

/**
 * One HTTP request and its reply, read whole within a bound. Whoever gives up the attempt destroys the connection, unless
 * the exchange is `complete`.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #options: ExchangeOptions
  readonly #repeat: () => boolean
  readonly #chunks: Buffer[] = []
  #progress: 'waiting' | 'sent' | 'answered' | 'complete' = 'waiting'
  #status = 0
  #bytes = 0

  /** `repeat` is asked when the connection went before any reply came: true says that another exchange takes over. */
  constructor(options: ExchangeOptions, repeat: () => boolean) {
    this.#options = options
    this.#repeat = repeat
  }

  /** Whether the reply has been read to its end, so that the connection can carry another. */
  get complete(): boolean {
    return this.#progress === 'complete'
  }

  onRequestStart(): void {
    this.#progress = 'sent'
    this.#options.attempt.markSent()
  }

  onResponseStart(_: unknown, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return
    this.#progress = 'answered'
    this.#status = status
    const { attempt, readable, refuse, maxReplyBytes } = this.#options
    if (!readable.includes(status)) attempt.failWith(refuse(status))
    else if (Number(headers['content-length'] ?? 0) > maxReplyBytes) this.#tooLarge()
    else if (!isJson(headers['content-type'])) attempt.failWith(this.#notJson())
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes > this.#options.maxReplyBytes) this.#tooLarge()
    else this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    this.#progress = 'complete'
    const { attempt } = this.#options
    const [first] = this.#chunks
    const body = this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks)
    const text = decoded(body)
    if (body.length === 0) attempt.fail('bad_reply', 'the reply is empty')
    else if (text === undefined) attempt.fail('bad_reply', 'the reply is not UTF-8')
    else attempt.succeed({ status: this.#status, text })
  }

  onResponseError(_: unknown, error: Error): void {
    const { attempt } = this.#options
    if (attempt.settled) return
    if (this.#progress === 'waiting') attempt.failWith(notConnected(error, attempt.sent))
    else if (this.#progress === 'answered' || !isReset(error) || !this.#repeat()) {
      attempt.failWith(cut(error))
    }
  }

  #tooLarge(): void {
    this.#options.attempt.fail(
      'too_large',
      `the reply is over ${this.#options.maxReplyBytes} bytes`,
    )
  }

  #notJson(): Fault {
    return this.#status === 200
      ? new Fault('bad_reply', 'the reply is not of type application/json')
      : this.#options.refuse(this.#status)
  }
}

/** Most of what comes is ASCII, which Node copies as Latin-1 instead of decoding it. */
function decoded(body: Buffer): string | undefined {
  if (isAscii(body)) return body.toString('latin1')
  return isUtf8(body) ? body.toString('utf8') : undefined
}

function isJson(type: string | undefined): boolean {
  return type !== undefined && JSON_TYPE.test(type)
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

function isReset(error: Error): boolean {
  return RESETS.has(codeOf(error))
}

/** The second connection of a repeated request may be refused; then the first one had carried it. */
export function notConnected(error: Error, sentBefore: boolean): Fault {
  const outcome = sentBefore ? 'unknown' : 'not_sent'
  return new Fault('unreachable', `no connection to the upstream (${codeOf(error)})`, outcome)
}

/** The server may have acted. */
export function cut(error: Error): Fault {
  return NOT_HTTP.has(error.name)
    ? new Fault('bad_reply', 'the reply is not HTTP/1.1')
    : new Fault('cut', `the connection ended before the reply was whole (${codeOf(error)})`)
}
