import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createLocalJWKSet } from 'jose'
import type { UpstreamConfig } from '../../src/config/config.js'
import { createSigner, type Signer } from '../../src/identity/signer.js'
import { withContract } from '../../src/protocol/contract.js'
import { createIds } from '../../src/protocol/ids.js'
import type { Memory } from '../../src/protocol/memory.js'
import { withScope } from '../../src/protocol/scope.js'
import type { Served } from '../../src/protocol/serve.js'
import { systemClock } from '../../src/protocol/time.js'
import type { StoreOptions } from '../../src/stores/options.js'
import { openStore, storeContract } from '../../src/stores/store.js'
import { createClient } from '../../src/transport/client.js'
import { createHttpWire } from '../../src/transport/http.js'
import { ownerTokens } from '../../src/upstreams/owner-tokens.js'
import { temporaryFolder } from './federation.js'
import { VerifyingServer } from './verifying-server.js'

const ISSUER = 'https://gateway.example'
const newId = createIds(Date.now, randomBytes)

export interface TokenUpstream {
  readonly memory: Memory
  readonly config: Partial<UpstreamConfig>
  readonly server: VerifyingServer
}

export interface TokenUpstreamOptions {
  /** What is served behind the tokens. */
  readonly served: Served
  /** Roles that a token gives there. */
  readonly roles?: readonly string[]
  /** The gateway has a credential of its own there, too. */
  readonly bearer?: string
}

/** Memories that are reached by tokens of owners, over HTTP as the gateway reaches them, and the signer of them all. */
export class TokenUpstreams {
  readonly signer: Signer
  readonly #folder: ReturnType<typeof temporaryFolder>
  readonly #servers: VerifyingServer[] = []

  private constructor(signer: Signer, folder: ReturnType<typeof temporaryFolder>) {
    this.signer = signer
    this.#folder = folder
  }

  static async open(): Promise<TokenUpstreams> {
    const folder = temporaryFolder()
    const signer = await createSigner({
      path: join(folder.path, 'keys.json'),
      issuer: ISSUER,
      algorithm: 'EdDSA',
      lifetime: 60_000,
      rotate: 3_600_000,
      clock: systemClock,
      newId,
      purpose: 'serve',
      events: { signed: () => {}, rotated: () => {}, failed: () => {} },
    })
    return new TokenUpstreams(signer, folder)
  }

  async add(name: string, { served, roles, bearer }: TokenUpstreamOptions): Promise<TokenUpstream> {
    const server = await VerifyingServer.start(served, {
      issuer: ISSUER,
      audience: name,
      keys: (header, token) =>
        createLocalJWKSet(JSON.parse(this.signer.published().body))(header, token),
      ...(roles === undefined ? {} : { roles }),
      rootKey: bearer,
    })
    this.#servers.push(server)
    const wire = createHttpWire({
      ...{ url: new URL(server.url), clock: systemClock, bearer, connections: 64 },
    })
    const vouch = ownerTokens({
      signer: this.signer,
      verifier: { upstream: name, audience: name },
      subject: ISSUER,
      ownCredential: bearer === undefined ? 'none' : 'given',
    })
    const connect = { kind: 'http', url: server.url, bearer, connections: 64 } as const
    const config = { connect, owner: 'token', timeout: 20_000 } as const
    return { memory: createClient(wire, vouch), config, server }
  }

  /** Rejects where a request came with a token of another owner than it was for. */
  async close(): Promise<void> {
    for (const server of this.#servers) await server.close()
    this.#folder.remove()
    const violations = this.#servers.flatMap((server) => server.violations())
    if (violations.length > 0) throw new Error(violations.slice(0, 5).join('\n'))
  }
}

/** A built-in store as a server would serve it. */
export function servedStore(options: StoreOptions): Served {
  const store = openStore(options, { clock: systemClock, newId })
  return withContract(withScope(store, 'deny'), storeContract(options))
}
