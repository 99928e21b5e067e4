import type { IncomingMessage, ServerResponse } from 'node:http'

/** One request as it arrived. */
export interface Received {
  /** The JSON-RPC id; NaN where there is none. */
  readonly id: number
  readonly method: string | undefined
  readonly path: string | undefined
  /** Names and values in turn, as they came over the wire. */
  readonly rawHeaders: readonly string[]
  readonly body: string
}

/** What a behaviour has to do with. `turn` counts the requests of one connection from 1. */
export interface Turn {
  readonly response: ServerResponse
  readonly message: IncomingMessage
  readonly request: Received
  readonly turn: number
}

export type Behaviour = (turn: Turn) => void

/** The kinds of HTTP server that a transport must cope with, by what they do with a request. */
export const BEHAVIOURS = {
  /** Answers as it should: a recall of one record whose content is the request's own query. */
  healthy: ({ response, request }) => sendJson(response, answerTo(request)),
  /** Reads the request and says nothing. */
  silent: () => {},
  /** Sends the headers at once and no body. */
  headers_only: ({ response }) => {
    response.writeHead(200, { ...JSON_TYPE, 'content-length': '1000' })
    response.flushHeaders()
  },
  /** Sends one more byte of the body every 50 ms, for ever. */
  trickle: ({ response }) => {
    response.writeHead(200, JSON_TYPE)
    const timer = setInterval(() => response.write(' '), 50)
    response.on('close', () => clearInterval(timer))
  },
  /** Answers with a page and a 200. */
  html: ({ response }) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
    response.end('<!doctype html><title>Welcome</title>')
  },
  /** Says JSON and sends something else. */
  not_json: ({ response }) => sendJson(response, 'Internal Server Error'),
  not_utf8: ({ response }) => sendJson(response, Buffer.from([0x22, 0xff, 0xfe, 0x22])),
  empty: ({ response }) => sendJson(response, ''),
  /** Announces more than it sends, then drops the connection. */
  half_a_body: ({ response, request }) => {
    const text = answerTo(request)
    response.writeHead(200, { ...JSON_TYPE, 'content-length': String(text.length) })
    response.write(text.slice(0, text.length / 2), () => response.socket?.destroy())
  },
  /** 50 MB, announced. */
  huge: ({ response }) => sendJson(response, Buffer.alloc(50_000_000, ' ')),
  /** 50 MB, not announced. */
  huge_chunked: ({ response }) => {
    response.writeHead(200, JSON_TYPE)
    sendChunks(response, 50)
  },
  /** Answers another request. */
  wrong_id: ({ response, request }) =>
    sendJson(response, answerTo({ ...request, id: request.id + 1000 })),
  /** A result that is none of the method's. */
  wrong_result: ({ response, request }) =>
    sendJson(response, resultText(request.id, { records: 5 })),
  notification: ({ response }) =>
    sendJson(response, '{"jsonrpc":"2.0","method":"memory/event","params":{}}'),
  /** Sends the caller to a path where it would be answered well. */
  redirect: ({ response, request }) => {
    if (request.path === ELSEWHERE) sendJson(response, answerTo(request))
    else {
      response.writeHead(307, { location: ELSEWHERE })
      response.end()
    }
  },
  accepted: ({ response }) => sendStatus(response, 202),
  unauthorized: ({ response }) => sendStatus(response, 401),
  forbidden: ({ response }) => sendStatus(response, 403),
  missing: ({ response }) => sendStatus(response, 404),
  overloaded: ({ response }) => sendStatus(response, 429),
  failing: ({ response }) => sendStatus(response, 500),
  down: ({ response }) => sendStatus(response, 503),
  /** Refuses the version as §8.3.2 says. */
  other_version: ({ response }) => {
    response.writeHead(400, JSON_TYPE)
    response.end('{"jsonrpc":"2.0","id":null,"error":{"code":-32007,"message":"speaks a2m/9.0"}}')
  },
  /** The 400 of some framework. */
  bad_request: ({ response }) => {
    response.writeHead(400, JSON_TYPE)
    response.end('{"statusCode":400,"message":"Bad Request"}')
  },
  /** Answers with an error of the protocol. */
  refusing: ({ response, request: { id } }) => {
    const error = { code: -32002, message: 'no such tier', data: { tier: 'x' } }
    sendJson(response, JSON.stringify({ jsonrpc: '2.0', id, error }))
  },
  /** Reads the request, and so may have acted, then resets the connection. */
  reset: ({ message }) => {
    message.socket.resetAndDestroy()
  },
  /** Answers, and drops a connection that was idle for 30 ms without having announced that it would. */
  short_keep_alive: ({ response, request }) => {
    const { socket } = response
    response.on('finish', () => {
      const timer = setTimeout(() => socket?.destroy(), 30)
      socket?.once('data', () => clearTimeout(timer))
    })
    sendJson(response, answerTo(request))
  },
  /** Answers the first request of each connection and resets the connection on a second one. */
  reset_when_reused: ({ response, message, request, turn }) => {
    if (turn > 1) message.socket.resetAndDestroy()
    else sendJson(response, answerTo(request))
  },
  /** Answers with the headers that it got, as the content of a record. */
  echo: ({ response, request }) => {
    const content = JSON.stringify(request.rawHeaders)
    sendJson(response, resultText(request.id, { records: [record(content)] }))
  },
} as const satisfies Readonly<Record<string, Behaviour>>

export type HttpKind = keyof typeof BEHAVIOURS

/** What a healthy upstream says of itself. */
const DESCRIPTION = {
  protocol: 'a2m/0.1',
  name: 'upstream',
  capabilities: ['core'],
  methods: ['describe', 'remember', 'recall', 'timeline', 'forget'].map((name) => `memory/${name}`),
}

const ELSEWHERE = '/elsewhere'
const JSON_TYPE = { 'content-type': 'application/json' }

function answerTo({ id, method, body }: Received): string {
  if (method === 'GET') return JSON.stringify(DESCRIPTION)
  const call: unknown = JSON.parse(body)
  const remember = body.includes('"memory/remember"')
  const describe = body.includes('"memory/describe"')
  if (describe) return resultText(id, DESCRIPTION)
  return resultText(id, remember ? { ids: ['1'] } : { records: [record(queryOf(call))] })
}

function queryOf(call: unknown): string {
  if (typeof call !== 'object' || call === null || !('params' in call)) return ''
  const { params } = call
  const query =
    typeof params === 'object' && params !== null && 'query' in params ? params.query : ''
  return String(query)
}

function record(content: string): unknown {
  return { id: '1', content, created_at: '2026-01-01T00:00:00.000Z', score: 1 }
}

function resultText(id: number, result: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id, result })
}

function sendJson(response: ServerResponse, body: string | Buffer): void {
  response.writeHead(200, { ...JSON_TYPE, 'content-length': String(Buffer.byteLength(body)) })
  response.end(body)
}

function sendStatus(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'content-type': 'text/plain' })
  response.end()
}

function sendChunks(response: ServerResponse, left: number): void {
  if (response.destroyed) return
  if (left === 0) response.end()
  else response.write(Buffer.alloc(1_000_000, ' '), () => sendChunks(response, left - 1))
}
