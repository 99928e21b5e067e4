import type { UpstreamConfig } from '../../src/config/config.js'
import type { Context, Memory } from '../../src/protocol/memory.js'
import type { Description, Method, ParamsOf, ResultOf } from '../../src/protocol/methods.js'
import { PROTOCOL } from '../../src/protocol/versions.js'
import { discover, type UpstreamProfile } from '../../src/upstreams/profile.js'
import {
  Upstream,
  type UpstreamEvents,
  type UpstreamOptions,
} from '../../src/upstreams/upstream.js'
import { upstreamConfig } from './federation.js'
import { anyContext } from './federation-contexts.js'
import { PlainMemory, type PlainOptions } from './plain-memory.js'

/** Everything that an upstream told, in order. */
export interface Told {
  readonly events: UpstreamEvents
  readonly states: string[]
  readonly breakers: string[]
  readonly mismatches: string[]
}

export function listening(): Told {
  const told = {
    states: [] as string[],
    breakers: [] as string[],
    mismatches: [] as string[],
  }
  const events: UpstreamEvents = {
    state: (_, state) => told.states.push(state),
    breaker: (_, state) => told.breakers.push(state),
    profileMismatch: (name) => told.mismatches.push(name),
  }
  return { ...told, events }
}

/** An upstream that has not been asked anything yet. */
export function upstreamOver(
  name: string,
  memory: Memory,
  {
    config,
    ...over
  }: { config?: Partial<UpstreamConfig> } & Partial<Omit<UpstreamOptions, 'config'>> = {},
): Upstream {
  return new Upstream({
    config: upstreamConfig(name, { connect: HTTP, ...config }),
    reached: { memory },
    clock: { now: Date.now, monotonic: () => performance.now() },
    events: listening().events,
    stored: undefined,
    store: () => {},
    ...over,
  })
}

const HTTP: UpstreamConfig['connect'] = {
  kind: 'http',
  url: 'http://127.0.0.1/',
  bearer: undefined,
  connections: 1,
}

/** An upstream that has described itself. */
export async function readUpstream(
  name: string,
  options: PlainOptions,
  config: Partial<UpstreamConfig> = {},
): Promise<Upstream> {
  const upstream = upstreamOver(name, new PlainMemory(options), { config })
  await upstream.refresh()
  return upstream
}

export async function profileOf(options: PlainOptions): Promise<UpstreamProfile> {
  const memory = new PlainMemory(options)
  return (await discover({ memory, context: anyContext(), access: undefined })).profile
}

export function describing(over: Partial<Description> = {}): Description {
  return { protocol: PROTOCOL, name: 'plain', capabilities: ['core'], methods: [], ...over }
}

/** A memory whose every call waits until a test lets it through or fails it. */
export class Gated implements Memory {
  readonly waiting: { readonly method: Method; pass(): void; fail(error: Error): void }[] = []
  /** The most that were in flight at once. */
  most = 0
  #inFlight = 0
  #inner: Memory

  constructor(inner: Memory = new PlainMemory()) {
    this.#inner = inner
  }

  /** Calls that came in, ended ones included. */
  get seen(): number {
    return this.waiting.length
  }

  async call<M extends Method>(
    method: M,
    params: ParamsOf<M>,
    context: Context,
  ): Promise<ResultOf<M>> {
    this.most = Math.max(this.most, ++this.#inFlight)
    try {
      await new Promise<void>((resolve, reject) => {
        this.waiting.push({ method, pass: resolve, fail: reject })
      })
      return await this.#inner.call(method, params, context)
    } finally {
      this.#inFlight--
    }
  }

  close(): Promise<void> {
    return this.#inner.close()
  }
}
