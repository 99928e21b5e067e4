import { once } from 'node:events'
import { createServer, type Server } from 'node:http'

/** Takes whatever the gateway sends to others, usage events and warnings of soft limits, and gives out an issuer's keys. */
export class Receiver {
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
  }

  static async listen(port: number, keySet: string): Promise<Receiver> {
    const server = createServer((request, response) => {
      request.resume().on('end', () => {
        if (request.method !== 'GET') response.writeHead(204).end()
        else response.writeHead(200, { 'content-type': 'application/json' }).end(keySet)
      })
    })
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return new Receiver(server)
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await once(this.#server.close(), 'close')
  }
}
