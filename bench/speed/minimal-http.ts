import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A request as the load sends it, and as it is believed to be. */
export interface Call {
  readonly id: unknown
  readonly method: string
  readonly params?: { readonly query?: string; readonly limit?: number }
}

/** Reads a whole body as JSON, of which nothing is checked. */
export function readCall(request: IncomingMessage): Promise<Call> {
  return new Promise((resolve) => {
    let text = ''
    request.setEncoding('utf8')
    request.on('data', (chunk: string) => {
      text += chunk
    })
    request.on('end', () => resolve(JSON.parse(text)))
  })
}

export function sendJson(response: ServerResponse, text: string): void {
  const length = Buffer.byteLength(text)
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': length })
  response.end(text)
}

/** Listens on a free port of this machine and says so as the gateway does. */
export function announce(server: Server): void {
  server.keepAliveTimeout = 72_000
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo
    process.stderr.write(`listening on http://127.0.0.1:${port}/\n`)
  })
}
