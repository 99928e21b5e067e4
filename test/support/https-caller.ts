import { Agent, request } from 'node:https'
import { onTestFinished } from 'vitest'

export interface HttpsAnswer {
  readonly status: number | undefined
  readonly body: string
  readonly headers: readonly string[]
}

export interface Showing {
  /** The authority that the server's certificate is checked with. */
  readonly ca: string
  /** What the client shows of itself. */
  readonly cert?: string
  readonly key?: string
}

/** A client over TLS with one connection that it keeps. */
export class HttpsCaller {
  readonly #url: string
  readonly #agent: Agent

  constructor(url: string, showing: Showing) {
    this.#url = url
    this.#agent = new Agent({ ...showing, keepAlive: true, maxSockets: 1, servername: 'localhost' })
    onTestFinished(() => this.#agent.destroy())
  }

  /** How many connections it has made. */
  connections = 0

  call(method: string, params: object = {}, authorization?: string): Promise<HttpsAnswer> {
    return new Promise((resolve, reject) => {
      const headers = {
        'content-type': 'application/json',
        ...(authorization && { authorization }),
      }
      const sent = request(this.#url, { method: 'POST', agent: this.#agent, headers })
      sent.on('socket', (socket) => {
        if (!sent.reusedSocket && socket.connecting) this.connections++
      })
      sent.on('error', reject)
      sent.on('response', async (response) => {
        const body = Buffer.concat(await response.toArray()).toString()
        const headers = response.rawHeaders.map((one, index) =>
          response.rawHeaders[index - 1] === 'Date' ? '' : one,
        )
        resolve({ status: response.statusCode, body, headers })
      })
      sent.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
    })
  }
}
