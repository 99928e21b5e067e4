import { once } from 'node:events'
import { createServer, type Server } from 'node:http'

/** Takes whatever the gateway sends to others: usage events, and warnings of soft limits. */
export class Receiver {
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
  }

  static async listen(port: number): Promise<Receiver> {
    const server = createServer((request, response) => {
      request.resume().on('end', () => response.writeHead(204).end())
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
