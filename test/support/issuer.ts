import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { onTestFinished } from 'vitest'

/** A key pair of an issuer; `jwk` is the public half, as it is published. */
export interface IssuerKey {
  readonly kid: string
  readonly alg: string
  readonly jwk: JWK
  readonly privateKey: CryptoKey
}

export async function makeKey(kid: string, alg = 'EdDSA'): Promise<IssuerKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  return { kid, alg, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' }, privateKey }
}

export type Claimed = Readonly<Record<string, unknown>>

/** Signs claims as they are; `header` goes beside the algorithm and the key's name. */
export function signed(
  claims: Claimed,
  { alg, kid, privateKey }: IssuerKey,
  header: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg, kid, ...header }).sign(privateKey)
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** A token issuer on this machine, gone with the test: it publishes keys, and says how often it was asked for them. */
export class LocalIssuer {
  asked = 0
  keys: readonly IssuerKey[] = []
  /** Answers in place of the keys. */
  instead: Answer | undefined
  readonly #server: Server

  private constructor() {
    this.#server = createServer((request, response) => {
      this.asked++
      if (this.instead !== undefined) return this.instead(request, response)
      response.end(this.keySet)
    })
  }

  static async start(...keys: IssuerKey[]): Promise<LocalIssuer> {
    const issuer = new LocalIssuer()
    issuer.keys = keys
    await new Promise<void>((resolve) => issuer.#server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => issuer.stop())
    return issuer
  }

  get keySet(): string {
    return JSON.stringify({ keys: this.keys.map(({ jwk }) => jwk) })
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo
    return `http://127.0.0.1:${port}/jwks.json`
  }

  stop(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}
