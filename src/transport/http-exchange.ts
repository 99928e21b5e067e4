import { isUtf8 } from 'node:buffer'
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
const RESETS: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

/** One HTTP request and its reply, read whole within a bound. Nothing of the reply is kept once the attempt has ended. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #options: ExchangeOptions
  #repeat: ((error: Error) => boolean) | undefined
  #controller: Dispatcher.DispatchController | undefined
  #status = 0
  #chunks: Buffer[] = []
  #bytes = 0

  /** `repeat` is asked once, when the connection went before any reply came: true says that the request is on its way again. */
  constructor(options: ExchangeOptions, repeat: (error: Error) => boolean) {
    this.#options = options
    this.#repeat = repeat
  }

  /** Destroys the connection where the exchange is under way; one that still waits in the queue is never sent. */
  stop(): void {
    this.#chunks = []
    this.#controller?.abort(unwanted())
  }

  /** Throwing here is how undici drops a request without destroying the connection that it was about to use. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#options.attempt.settled) throw unwanted()
    this.#controller = controller
    this.#options.attempt.markSent()
  }

  onResponseStart(_: unknown, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return
    this.#status = status
    const { attempt, readable, refuse } = this.#options
    if (!readable.includes(status)) attempt.failWith(refuse(status))
    else if (Number(headers['content-length'] ?? 0) > this.#options.maxReplyBytes) this.#tooLarge()
    else if (!isJson(headers['content-type'])) attempt.failWith(this.#notJson())
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes > this.#options.maxReplyBytes) this.#tooLarge()
    else this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    this.#controller = undefined
    const { attempt } = this.#options
    const [first] = this.#chunks
    const body = this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks)
    if (body.length === 0) attempt.fail('bad_reply', 'the reply is empty')
    else if (!isUtf8(body)) attempt.fail('bad_reply', 'the reply is not UTF-8')
    else attempt.succeed({ status: this.#status, text: body.toString('utf8') })
  }

  onResponseError(_: unknown, error: Error): void {
    const started = this.#controller !== undefined
    this.#controller = undefined
    const { attempt } = this.#options
    if (attempt.settled) return
    if (!started) attempt.failWith(notConnected(error, attempt.sent))
    else if (this.#status !== 0 || !isReset(error) || !this.#repeats(error)) {
      attempt.failWith(cut(error))
    }
  }

  #repeats(error: Error): boolean {
    const repeat = this.#repeat
    this.#repeat = undefined
    return repeat?.(error) ?? false
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

function isJson(type: string | undefined): boolean {
  return type !== undefined && JSON_TYPE.test(type)
}

function unwanted(): Error {
  return new Error('no longer wanted')
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

function isReset(error: Error): boolean {
  return RESETS.has(codeOf(error))
}

/** The second connection of a repeated request may be refused; then the first one had carried it. */
function notConnected(error: Error, sentBefore: boolean): Fault {
  const outcome = sentBefore ? 'unknown' : 'not_sent'
  return new Fault('unreachable', `no connection to the upstream (${codeOf(error)})`, outcome)
}

function cut(error: Error): Fault {
  const code = codeOf(error)
  return code.startsWith('HPE_') || code === 'UND_ERR_HEADERS_OVERFLOW'
    ? new Fault('bad_reply', `the reply is not HTTP (${code})`)
    : new Fault('cut', `the connection ended before the reply was whole (${code})`)
}
