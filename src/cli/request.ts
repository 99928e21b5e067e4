import type { ErrorData } from '../protocol/errors.js'
import { JsonText, print } from '../protocol/json.js'
import { parse } from '../protocol/json-parse.js'
import { PROTOCOL, VERSION_HEADER } from '../protocol/versions.js'
import { Failure } from './failure.js'

export interface RequestOptions {
  readonly url: URL
  readonly token: string | undefined
  readonly method: string
  /** A JSON object, sent to the letter. */
  readonly params: string
  /** In ms. */
  readonly timeout: number
}

/** What a server answered; `result` is JSON text in which metadata is to the letter. */
export type Reply =
  | { readonly result: string }
  | {
      readonly error: {
        readonly code: number
        readonly message: string
        readonly data: ErrorData | undefined
      }
    }

/** Makes one call over HTTP. Throws a `Failure` that says what to do where there is no answer of the protocol. */
export async function request(options: RequestOptions): Promise<Reply> {
  const { status, text } = await post(options)
  const message = status === 200 || status === 400 ? read(text) : undefined
  if (message !== undefined) return message
  throw new Failure(1, STATUS[status] ?? `${options.url} answered with HTTP status ${status}`)
}

const STATUS: Readonly<Record<number, string>> = {
  200: 'what answered there does not speak A2M',
  401: 'the server wants a valid API key; give one with --token or $A2M_TOKEN',
  403: 'the server does not let in requests for this host name; add its origin to allowed_origins of the gateway',
  404: 'there is no A2M endpoint at this path; see listen.path of the server',
  405: 'there is no A2M endpoint at this path; see listen.path of the server',
  413: 'the params are larger than the server takes; see limits.body_bytes of the server',
}

interface Answer {
  readonly status: number
  readonly text: string
}

async function post(options: RequestOptions): Promise<Answer> {
  const { url, token, method, params, timeout } = options
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', [VERSION_HEADER]: PROTOCOL, ...authorization },
      body: `{"jsonrpc":"2.0","id":1,"method":${JSON.stringify(method)},"params":${params}}`,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeout),
    })
    return { status: response.status, text: await response.text() }
  } catch (thrown) {
    throw new Failure(1, `no answer from ${url.origin}: ${why(thrown, timeout)}`)
  }
}

function why(thrown: unknown, timeout: number): string {
  if (thrown instanceof DOMException && thrown.name === 'TimeoutError') {
    return `nothing came within ${timeout / 1000} s`
  }
  const cause = thrown instanceof Error ? thrown.cause : undefined
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  if (code === 'ECONNREFUSED') return 'nothing listens there; `a2m-gateway serve` starts a gateway'
  if (thrown instanceof TypeError && cause === undefined)
    return 'the token holds characters that no header may'
  return code === '' ? 'the connection broke' : code
}

function read(text: string): Reply | undefined {
  try {
    const message = parse(text, 'lenient')
    if (!isObject(message)) return undefined
    const { result, error } = message
    if (result !== undefined) return { result: print(result) }
    return isObject(error) ? { error: readError(error) } : undefined
  } catch {
    return undefined
  }
}

function readError({ code, message, data }: Readonly<Record<string, unknown>>) {
  return {
    code: typeof code === 'number' ? code : Number.NaN,
    message: typeof message === 'string' ? message : '',
    data: isObject(data) ? data : undefined,
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !(value instanceof JsonText)
}
