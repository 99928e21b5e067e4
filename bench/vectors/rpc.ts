import { Agent, request } from 'node:http'

/** One server that is called over connections that stay open. */
export class Rpc {
  readonly #agent = new Agent({ keepAlive: true })
  readonly #url: string

  constructor(url: string) {
    this.#url = url
  }

  /** One call; throws where it is answered with an error, or where some store is missing from the answer. */
  async call(method: string, params: object): Promise<string> {
    const reply = await this.post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
    const bad = !reply.includes('"result"') || reply.includes('"partial":true')
    if (bad) throw new Error(`${method}: ${reply.slice(0, 300)}`)
    return reply
  }

  /** Sends a text and reads the answer, which is not looked at. */
  post(body: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const headers = {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      }
      const sent = request(this.#url, { method: 'POST', agent: this.#agent, headers }, (reply) => {
        const pieces: Buffer[] = []
        reply.on('data', (piece: Buffer) => pieces.push(piece))
        reply.on('end', () => resolve(Buffer.concat(pieces).toString()))
        reply.on('error', reject)
      })
      sent.on('error', reject)
      sent.end(body)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}
