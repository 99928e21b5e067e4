import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { createHttpEdge, HTTP_LIMITS, type HttpEdgeOptions } from '../../src/edge/http.js'
import { createIdentity } from '../../src/identity/identity.js'
import type { CallReport } from '../../src/protocol/call-report.js'
import type { Context } from '../../src/protocol/memory.js'
import type { Method } from '../../src/protocol/methods.js'
import type { Served } from '../../src/protocol/serve.js'
import { systemClock } from '../../src/protocol/time.js'

/** One call as it reached the memory behind an edge. */
export interface Reached {
  readonly method: Method
  readonly params: unknown
  readonly context: Context
}

/** A memory whose every answer is what `handler` says; the results are taken on trust. */
export function servedBy(handler: (reached: Reached) => unknown): Served {
  return {
    refusal: () => undefined,
    recognised: (_method, params) => params,
    call: async (method, params, context) => (await handler({ method, params, context })) as never,
    close: async () => {},
  }
}

export const NOTHING = { records: [] }

export async function startEdge(
  handler: (reached: Reached) => unknown,
  overrides: Partial<HttpEdgeOptions> = {},
) {
  const reports: CallReport[] = []
  const refusals: number[] = []
  const edge = createHttpEdge({
    versions: new Map([['a2m/0.1', { served: servedBy(handler) }]]),
    identity: createIdentity(undefined, { clock: systemClock }),
    path: '/',
    allowedOrigins: [],
    limits: HTTP_LIMITS,
    observer: {
      started: () => {},
      finished: (report) => reports.push(report),
      refused: (status) => refusals.push(status),
    },
    clock: systemClock,
    randomBytes,
    wellKnown: () => Promise.reject(new Error('unknown')),
    ready: () => ({ state: 'ready' }),
    ...overrides,
  })
  const { url, port } = await edge.listen('127.0.0.1', 0)
  onTestFinished(() => edge.close(500))
  return { edge, url, port, reports, refusals }
}

export const JSON_HEADERS = { 'content-type': 'application/json' }

export function post(url: string, body: string | Uint8Array, headers: object = {}) {
  return fetch(url, { method: 'POST', headers: { ...JSON_HEADERS, ...headers }, body })
}

export function message(fields: object = {}): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'memory/recall', params: {}, ...fields })
}

interface Reply {
  readonly id: unknown
  readonly result: { readonly prompt: string }
  readonly error: { readonly code: number }
}

/** The JSON-RPC reply in a response; which of its parts is there is for the test to say. */
export async function replyIn(response: { json(): Promise<unknown> }): Promise<Reply> {
  return (await response.json()) as Reply
}

/** A connection on which a test writes bytes of its own. */
export class RawClient {
  readonly socket: Socket
  #received = ''
  #ended = false

  private constructor(port: number) {
    this.socket = connect(port, '127.0.0.1')
    this.socket.on('data', (chunk: Buffer) => {
      this.#received += chunk.toString('latin1')
    })
    this.socket.on('close', () => {
      this.#ended = true
    })
    this.socket.on('error', () => {})
  }

  static async open(port: number): Promise<RawClient> {
    const client = new RawClient(port)
    await once(client.socket, 'connect')
    onTestFinished(() => void client.socket.destroy())
    return client
  }

  send(text: string): this {
    this.socket.write(text)
    return this
  }

  get received(): string {
    return this.#received
  }

  /** What came until `wanted` matched it. */
  async until(wanted: RegExp): Promise<string> {
    while (!wanted.test(this.#received)) {
      if (this.#ended) throw new Error(`closed after ${JSON.stringify(this.#received)}`)
      await Promise.race([once(this.socket, 'data'), once(this.socket, 'close')])
    }
    return this.#received
  }

  /** Everything that came until the other side closed. */
  async toTheEnd(): Promise<string> {
    if (!this.#ended) await once(this.socket, 'close')
    return this.#received
  }
}

/** The head of a POST to `/`, `lines` in front of the blank one. */
export function head(...lines: string[]): string {
  return `${['POST / HTTP/1.1', 'host: localhost', ...lines].join('\r\n')}\r\n\r\n`
}

/** Something that a test lets go on when it likes. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}
