import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type JWTVerifyGetKey, jwtVerify } from 'jose'
import { type Caller, GATEWAY_ROLE } from '../../src/protocol/memory.js'
import { type Served, serve } from '../../src/protocol/serve.js'
import { contextWithin } from './contexts.js'

/** Whose word a verifying server takes. */
export interface Trust {
  readonly issuer: string
  readonly audience: string
  readonly keys: JWTVerifyGetKey
  /** Roles of everybody who comes with a token. */
  readonly roles?: readonly string[]
  /** A key that is no token, whose holder may act for every owner. */
  readonly rootKey?: string | undefined
}

/** One request that was let in: for whom, undefined for the holder of the root key, and what it asked. */
export interface Seen {
  readonly subject: string | undefined
  readonly token: string
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
}

/**
 * A memory behind HTTP that lets callers in by tokens: whoever comes is the owner that is the subject of its token. It notes
 * every request that names, anywhere, an owner other than the one that its token is for.
 */
export class VerifyingServer {
  readonly seen: Seen[] = []
  /** Requests that were turned away: the status and the `Authorization` that came. */
  readonly refused: { readonly status: number; readonly authorization: string | undefined }[] = []
  readonly #server = createServer((request, response) => {
    this.#take(request, response).catch((thrown) => response.destroy(thrown))
  })
  readonly #served: Served
  readonly #trust: Trust
  /** Set to turn everybody away with this status. */
  closedWith: number | undefined
  /** Set to answer every call with an error that repeats the credential. */
  echoing = false

  private constructor(served: Served, trust: Trust) {
    this.#served = served
    this.#trust = trust
  }

  static async start(served: Served, trust: Trust): Promise<VerifyingServer> {
    const server = new VerifyingServer(served, trust)
    server.#server.listen(0, '127.0.0.1')
    await once(server.#server, 'listening')
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`
  }

  /** Requests of which a part was for another owner than their token, in words. */
  violations(): string[] {
    return this.seen.flatMap(({ subject, method, params }) => {
      const others = ownersIn(params).filter((owner) => owner !== subject)
      return subject === undefined || others.length === 0
        ? []
        : [`${method} for ${others.join(', ')} came with a token of ${subject}`]
    })
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await this.#served.close()
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { authorization } = request.headers
    const subject = await this.#subjectOf(authorization)
    if (subject === 'nobody' || this.closedWith !== undefined) {
      const status = this.closedWith ?? 401
      this.refused.push({ status, authorization })
      response.writeHead(status, { 'www-authenticate': 'Bearer' }).end()
      return
    }
    const text = await bodyOf(request)
    const { method, params = {} } = JSON.parse(text)
    this.seen.push({ ...subject, method, params, token: authorization?.slice(7) ?? '' })
    if (this.echoing) {
      const error = { code: -32602, message: `not with ${authorization}` }
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(text).id, error }))
      return
    }
    const caller = callerOf(subject.subject, this.#trust.roles ?? [])
    const { reply = '' } = await serve(text, this.#served, { ...contextWithin(20_000), caller })
    response.writeHead(200, { 'content-type': 'application/json' }).end(reply)
  }

  async #subjectOf(
    authorization: string | undefined,
  ): Promise<'nobody' | { readonly subject: string | undefined }> {
    const { rootKey, keys, issuer, audience } = this.#trust
    if (rootKey !== undefined && authorization === `Bearer ${rootKey}`)
      return { subject: undefined }
    try {
      const token = authorization?.slice('Bearer '.length) ?? ''
      const { payload } = await jwtVerify(token, keys, { issuer, audience })
      return payload.sub === undefined ? 'nobody' : { subject: payload.sub }
    } catch {
      return 'nobody'
    }
  }
}

function callerOf(subject: string | undefined, roles: readonly string[]): Caller {
  if (subject === undefined) return { name: 'root', roles: [GATEWAY_ROLE], scope: { kind: 'all' } }
  return { name: subject, roles, scope: { kind: 'owners', owners: [subject] } }
}

/** Every owner that params name. */
function ownersIn(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, part]) => {
    if (name === 'metadata' || name === 'where') return []
    return name === 'owner' && part !== undefined ? [part] : ownersIn(part)
  })
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}
