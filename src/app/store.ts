import type { Readable, Writable } from 'node:stream'
import { createExtractor } from '../digest/extract.js'
import { type DigestOptions, digestCapabilities, withDigest } from '../digest/with-digest.js'
import { createDispatch } from '../edge/dispatch.js'
import { createHttpEdge, HTTP_LIMITS, type HttpEdgeOptions } from '../edge/http.js'
import type { Address, HttpListener } from '../edge/listener.js'
import { serveStdio } from '../edge/stdio.js'
import { createTraces } from '../edge/trace.js'
import { type Pushing, withPush } from '../edge/with-push.js'
import { withWake } from '../edge/with-wake.js'
import { Listeners } from '../events/listeners.js'
import type { KeyEntry } from '../identity/api-keys.js'
import { createIdentity, stdioCaller } from '../identity/identity.js'
import { type Contract, withContract } from '../protocol/contract.js'
import { type Context, GATEWAY_ROLE, type Memory, type Scope } from '../protocol/memory.js'
import { onceFor } from '../protocol/once-for.js'
import { withScope } from '../protocol/scope.js'
import type { Served } from '../protocol/serve.js'
import type { Clock } from '../protocol/time.js'
import { PROTOCOL } from '../protocol/versions.js'
import type { StoreOptions } from '../stores/options.js'
import { storeContract } from '../stores/store.js'
import type { Log } from '../telemetry/logs.js'
import { observeAll } from '../telemetry/report.js'
import { withCrashLog } from '../telemetry/with-crash-log.js'
import { Tokenizer } from '../text/tokenizer.js'
import { createWorkerStore } from '../transport/in-process.js'
import { internalContext } from '../upstreams/upstream.js'
import { ListenError } from './listen-error.js'

export interface StoreAppOptions {
  readonly store: StoreOptions
  /** The digest of the one key that is let in, in hexadecimal; its holder may act for every owner. Absent: no key is asked for. */
  readonly tokenSha256: string | undefined
  readonly clock: Clock
  /** A number from 0 to 1. */
  readonly random: () => number
  readonly randomBytes: (size: number) => Uint8Array
  readonly log: Log
}

/** One built-in store as a server of its own. */
export interface StoreApp {
  /** Rejects with a `ListenError` where the port cannot be had; the app is then still to be closed. */
  listen(host: string, port: number): Promise<Address>
  /** Resolves when the input has ended and what came in is answered. */
  serveStdio(input: Readable, output: Writable): Promise<void>
  close(): Promise<void>
}

/** The most lines of stdio that are worked on at once. */
const MAX_IN_FLIGHT = 64
/** How long calls under way may take when the store is closed, in ms. */
export const STORE_SHUTDOWN_MS = 10_000

/** Opens the store in a worker thread. Throws one Error that names the file where it cannot be used. */
export async function openStoreApp(options: StoreAppOptions): Promise<StoreApp> {
  const { clock, random, store } = options
  const memory = await createWorkerStore({ workerData: store, clock, random })
  const digest = digestOf(memory, store)
  const scoped = withScope(withDigest(memory, digest), 'deny')
  const contract = contractWith(digest, storeContract(store))
  const served = pushing(withCrashLog(withContract(scoped, contract), options.log), clock)
  const observer = observeAll([])
  const edge = createEdge(options, { served, observer })
  return {
    async listen(host, port) {
      try {
        return await edge.listen(host, port)
      } catch (thrown) {
        throw new ListenError('store', thrown)
      }
    },
    serveStdio: (input, output) => overStdio(options, { served, observer, input, output }),
    async close() {
      await edge.close(STORE_SHUTDOWN_MS)
      await memory.close()
    },
  }
}

/** A store of its own extracts sentences; it asks no model. */
function digestOf(memory: Memory, { limits }: StoreOptions): DigestOptions {
  return {
    promptModel: undefined,
    summaries: {
      summarizer: createExtractor(new Tokenizer()),
      longestContent: () => limits?.max_content_length ?? Infinity,
      async tiers(context) {
        const { tiers = [] } = await memory.call('memory/describe', {}, context)
        return tiers.map(({ name }) => name)
      },
    },
  }
}

type ContractFor = (context: Context) => Contract

function contractWith(digest: DigestOptions, contractFor: ContractFor): ContractFor {
  const own = digestCapabilities(digest)
  const widened = onceFor((had: Contract['capabilities']) => new Set([...had, ...own]))
  return (context) => {
    const contract = contractFor(context)
    return { ...contract, capabilities: widened(contract.capabilities) }
  }
}

/** Whoever writes to the store comes through here. */
function pushing(inner: Served, clock: Clock): Pushing {
  const changes = new Listeners()
  return withPush(
    withWake(inner, () => changes.wake()),
    { changes, clock },
  )
}

type Serving = Pick<HttpEdgeOptions, 'observer'> & { readonly served: Pushing }

function createEdge(options: StoreAppOptions, { served, observer }: Serving): HttpListener {
  const { tokenSha256, clock, randomBytes } = options
  const keys = tokenSha256 === undefined ? undefined : [holder(tokenSha256)]
  return createHttpEdge({
    versions: new Map([[PROTOCOL, { served }]]),
    identity: createIdentity(keys && { keys }, { clock }),
    path: '/',
    allowedOrigins: [],
    limits: HTTP_LIMITS,
    observer,
    clock,
    randomBytes,
    wellKnown: () => served.call('memory/describe', {}, profileContext(options)),
    ready: () => ({ state: 'ready' }),
  })
}

function holder(sha256: string): KeyEntry {
  return { name: 'token', owner: '*', sha256, roles: [GATEWAY_ROLE] }
}

/** The profile promises what a caller over HTTP would be promised. */
function profileContext({ clock, tokenSha256 }: StoreAppOptions): Context {
  const context = internalContext(clock.monotonic() + HTTP_LIMITS.callMs)
  const scope: Scope = { kind: tokenSha256 === undefined ? 'ownerless' : 'all' }
  return { ...context, caller: { ...context.caller, scope } }
}

interface Streams extends Serving {
  readonly input: Readable
  readonly output: Writable
}

function overStdio(options: StoreAppOptions, streams: Streams): Promise<void> {
  const { clock, randomBytes } = options
  const dispatch = createDispatch({
    clock,
    requestMs: HTTP_LIMITS.callMs,
    observer: streams.observer,
    newTrace: createTraces(randomBytes),
  })
  return serveStdio({
    ...streams,
    version: PROTOCOL,
    flushed: (connection) => streams.served.flushed(connection),
    caller: stdioCaller([GATEWAY_ROLE]),
    dispatch,
    maxLineBytes: HTTP_LIMITS.maxBodyBytes,
    maxInFlight: MAX_IN_FLIGHT,
  })
}
