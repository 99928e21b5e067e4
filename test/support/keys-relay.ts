import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/**
 * A fixed address for the published keys of a gateway that is started later: an upstream needs to be told of it before the
 * gateway can be told of the upstream.
 */
export class KeysRelay {
  /** The gateway's own address, once it is known. */
  gateway: string | undefined
  readonly #server = createServer((_, response) => {
    this.#read().then(
      (body) => response.setHeader('content-type', 'application/json').end(body),
      () => response.writeHead(503).end(),
    )
  })

  /** Starts one that ends with the test. */
  static async start(): Promise<KeysRelay> {
    const relay = new KeysRelay()
    relay.#server.listen(0, '127.0.0.1')
    await once(relay.#server, 'listening')
    onTestFinished(() => {
      relay.#server.closeAllConnections()
      relay.#server.close()
    })
    return relay
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/keys.json`
  }

  async #read(): Promise<string> {
    if (this.gateway === undefined) throw new Error('the gateway is not there yet')
    const reply = await fetch(keysOf(this.gateway))
    if (reply.status !== 200) throw new Error(`answered with ${reply.status}`)
    return reply.text()
  }
}

/** Where a gateway publishes its keys. */
export function keysOf(gateway: string): URL {
  return new URL('/.well-known/jwks.json', gateway)
}
