import type { Identity } from '../identity/identity.js'
import type { PublishedKeys } from '../identity/signer.js'
import type { Description } from '../protocol/methods.js'
import type { Clock } from '../protocol/time.js'
import type { Observer } from '../telemetry/report.js'
import { createDispatch, type DispatchOptions } from './dispatch.js'
import { Drain } from './drain.js'
import { addHealthRoutes, type Readiness } from './health.js'
import { createListener, type HttpListener } from './listener.js'
import { createPassThrough } from './pass-through.js'
import { type Refused, refusalReply, sendJson } from './replies.js'
import { createRpcRoute } from './rpc-route.js'
import type { TlsDoor } from './tls.js'
import { createTraces } from './trace.js'
import type { Versions } from './versions.js'

/** Bounds on what one request may take; times in ms. */
export interface HttpLimits {
  readonly maxBodyBytes: number
  /** The longest that a call is waited for once its request is there. */
  readonly callMs: number
  /** The longest that a sender may take for its headers. */
  readonly headersMs: number
  /** The longest that a sender may take for a whole request. */
  readonly requestMs: number
}

export const HTTP_LIMITS: HttpLimits = {
  maxBodyBytes: 4 * 1024 * 1024,
  callMs: 30_000,
  headersMs: 10_000,
  requestMs: 30_000,
}

export interface HttpEdgeOptions {
  /** Every protocol version that is spoken and what serves it. */
  readonly versions: Versions
  readonly identity: Identity
  /** Encrypts the listener; without it, it is for a proxy or this machine. */
  readonly tls?: TlsDoor | undefined
  /** Where JSON-RPC is taken, beginning with a slash. */
  readonly path: string
  readonly allowedOrigins: readonly string[]
  readonly limits: HttpLimits
  readonly observer: Observer
  readonly keep?: DispatchOptions['keep']
  readonly clock: Clock
  readonly randomBytes: (size: number) => Uint8Array
  /** What the server says of itself to anyone (§8.3.3); may be stale. Counts are taken out here. Undefined: nothing. */
  readonly wellKnown: (() => Promise<Description>) | undefined
  readonly ready: () => Readiness
  /** The public keys that its tokens can be checked with; undefined where it signs none. */
  readonly keys?: (() => PublishedKeys | undefined) | undefined
}

/** The public face of the gateway over HTTP (§8.3). Nothing is bound until `listen`. */
export function createHttpEdge(options: HttpEdgeOptions): HttpListener {
  const { limits, observer } = options
  const drain = new Drain()
  const refused: Refused = (...refusal) => observer.refused(...refusal)
  const calls: DispatchOptions = {
    clock: options.clock,
    requestMs: limits.callMs,
    observer,
    keep: options.keep,
    newTrace: createTraces(options.randomBytes),
  }
  const { maxBodyBytes } = limits
  const around = { maxBodyBytes, drain, refused }
  const listener = createListener({
    guard: options,
    tls: options.tls,
    patience: { ...limits, silenceMs: limits.requestMs + limits.callMs },
    drain,
    refused,
    direct: createRpcRoute({
      ...options,
      ...around,
      dispatch: createDispatch(calls),
      passThrough: createPassThrough({ ...calls, ...around }),
    }),
  })
  addHealthRoutes(listener.app, options.ready, drain)
  if (options.wellKnown !== undefined) addWellKnown(listener, options.wellKnown)
  if (options.keys !== undefined) addKeys(listener, options.keys)
  return listener
}

function addWellKnown(
  { app }: ReturnType<typeof createListener>,
  read: () => Promise<Description>,
): void {
  app.get('/.well-known/a2m-server.json', async (_request, reply) => {
    reply.hijack()
    try {
      const body = JSON.stringify(publicProfile(await read()))
      sendJson(reply.raw, { status: 200, body })
    } catch {
      sendJson(reply.raw, refusalReply(503, 'the profile is not known yet'))
    }
  })
}

/** A JWK Set (RFC 7517), to be kept no longer than the next key is published before it signs. */
function addKeys(
  { app }: ReturnType<typeof createListener>,
  read: () => PublishedKeys | undefined,
): void {
  app.get('/.well-known/jwks.json', (_request, reply) => {
    reply.hijack()
    const keys = read()
    if (keys === undefined) return sendJson(reply.raw, NO_KEYS)
    const headers = { 'cache-control': `public, max-age=${keys.maxAge}` }
    sendJson(reply.raw, { status: 200, body: keys.body, headers })
  })
}

const NO_KEYS = refusalReply(503, 'the keys are not open yet')

/** What anybody may know: no counts, since those are the callers', and nothing of the upstreams. */
function publicProfile(description: Description): Description {
  const { tiers, federation: _, ...rest } = description
  if (tiers === undefined) return rest
  return { ...rest, tiers: tiers.map(({ stale: _stale, ...tier }) => ({ ...tier, count: 0 })) }
}
