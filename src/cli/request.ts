import type { ErrorData } from '../protocol/errors.js'
import { JsonText, print } from '../protocol/json.js'
import { parse } from '../protocol/json-parse.js'
import { VERSION_HEADER } from '../protocol/versions.js'
import { Failure } from './failure.js'
import { type Answer, type Sending, send } from './send.js'

export interface RequestOptions extends Pick<Sending, 'url' | 'timeout' | 'secure'> {
  readonly token: string | undefined
  /** The version that the header asks for. */
  readonly protocol: string
  readonly method: string
  /** A JSON object, sent to the letter. */
  readonly params: string
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
  401: 'the server wants a valid credential: give a key or token with --token or $A2M_TOKEN, or a certificate with --cert and --key',
  403: 'the server does not let in requests for this host name; add its origin to allowed_origins of the gateway',
  404: 'there is no A2M endpoint at this path; see listen.path of the server',
  405: 'there is no A2M endpoint at this path; see listen.path of the server',
  413: 'the params are larger than the server takes; see limits.body_bytes of the server',
}

async function post(options: RequestOptions): Promise<Answer> {
  const { url, token, protocol, method, params, timeout, secure } = options
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const headers = { 'content-type': 'application/json', [VERSION_HEADER]: protocol }
  const body = `{"jsonrpc":"2.0","id":1,"method":${JSON.stringify(method)},"params":${params}}`
  try {
    return await send({ url, headers: { ...headers, ...authorization }, body, timeout, secure })
  } catch (thrown) {
    throw new Failure(1, `no answer from ${url.origin}: ${why(thrown, timeout)}`)
  }
}

/** The answer of a server whose certificate nobody here vouches for, by the codes of OpenSSL. */
const UNKNOWN_AUTHORITY =
  /^(UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT(_LOCALLY)?|(DEPTH_ZERO_)?SELF_SIGNED_CERT(_IN_CHAIN)?)$/

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there; `a2m-gateway serve` starts a gateway',
  ERR_INVALID_CHAR: 'the token holds characters that no header may',
  ECONNRESET: 'the connection broke',
  EPROTO: 'it does not speak TLS as we do; is it http:// there?',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host name',
}

function why(thrown: unknown, timeout: number): string {
  if (thrown instanceof DOMException && thrown.name === 'TimeoutError') {
    return `nothing came within ${timeout / 1000} s`
  }
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : ''
  if (UNKNOWN_AUTHORITY.test(code)) {
    return `its certificate is of an authority that is not known here (${code}); name that with --ca ca.pem, or in the environment with NODE_EXTRA_CA_CERTS=ca.pem`
  }
  return REASONS[code] ?? (code === '' ? 'the connection broke' : code)
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
