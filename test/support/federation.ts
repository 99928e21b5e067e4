import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type {
  EventsConfig,
  FederationConfig,
  TierConfig,
  UpstreamConfig,
} from '../../src/config/config.js'
import { RETENTION } from '../../src/events/log.js'
import { createFederation, type Federation } from '../../src/federation/federation.js'
import type { Misbehaviour } from '../../src/federation/reading/arrivals.js'
import { withContract } from '../../src/protocol/contract.js'
import { createIds } from '../../src/protocol/ids.js'
import type { Memory } from '../../src/protocol/memory.js'
import { withScope } from '../../src/protocol/scope.js'
import { type Clock, systemClock } from '../../src/protocol/time.js'
import { openState, type State } from '../../src/state/state.js'
import type { StoreOptions } from '../../src/stores/options.js'
import { openStore, storeContract } from '../../src/stores/store.js'
import { Tokenizer } from '../../src/text/tokenizer.js'
import { createLoopback } from '../../src/transport/in-process.js'
import { createRegistry, type Registry } from '../../src/upstreams/registry.js'
import type { Reached } from '../../src/upstreams/upstream.js'
import { gatewayContext } from './federation-contexts.js'

/** A folder of its own for one test, and its removal. */
export function temporaryFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'a2m-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

const newId = createIds(Date.now, randomBytes)

/** A built-in store in this thread, reached through JSON text by a caller that may act for every owner. */
export function embeddedStore(options: StoreOptions, clock: Clock = systemClock): Memory {
  const store = openStore(options, { clock, newId })
  const served = withContract(withScope(store, 'deny'), storeContract(options))
  return createLoopback(served, gatewayContext)
}

export function upstreamConfig(name: string, over: Partial<UpstreamConfig> = {}): UpstreamConfig {
  return {
    name,
    connect: { kind: 'store', path: `/${name}.db`, tiers: [] },
    owner: undefined,
    access: undefined,
    ids: undefined,
    timeout: 1000,
    concurrency: 64,
    retries: 1,
    breaker: { failures: 5, reset: 5000 },
    maxReplyBytes: 1 << 24,
    refresh: 60_000,
    ...over,
  }
}

export function tierConfig(
  name: string,
  upstream: string,
  over: Partial<TierConfig> = {},
): TierConfig {
  return {
    name,
    kind: undefined,
    upstream,
    upstreamTier: name,
    also: [],
    capacity: 0,
    perSession: false,
    spillTo: undefined,
    promoteTo: undefined,
    promoteAfter: undefined,
    halfLife: undefined,
    overflow: 'keep',
    ...over,
  }
}

/** How recall merges where a test says nothing else. */
export const recallConfig = {
  limit: 8,
  window: 20,
  k: 60,
  voters: { lexical: 1, vector: 1 },
  onFailure: 'partial',
} as const satisfies FederationConfig['recall']

export interface Upstreams {
  readonly [name: string]: Reached & { readonly config?: Partial<UpstreamConfig> }
}

export interface FederationSetup {
  readonly upstreams: Upstreams
  readonly tiers?: readonly TierConfig[]
  readonly recall?: Partial<FederationConfig['recall']>
  readonly clock?: Clock
  readonly state?: State
  readonly step?: (name: string) => void
  readonly ownerMismatch?: 'deny' | 'ignore'
  readonly log?: Partial<EventsConfig>
  readonly places?: 'kept' | 'untold'
}

export interface TestFederation {
  readonly federation: Federation
  readonly registry: Registry
  readonly state: State
  readonly blamed: [upstream: string, what: Misbehaviour, count: number][]
  readonly unfinished: string[]
  /** What kept events of upstreams from being told. */
  readonly tailed: [upstream: string, problem: string][]
  close(): Promise<void>
}

/** A whole federation over the given memories, with its state in memory unless given. */
export async function openFederation(setup: FederationSetup): Promise<TestFederation> {
  const {
    upstreams,
    clock = systemClock,
    state = openState({ path: ':memory:', durability: 'normal' }),
  } = setup
  const blamed: TestFederation['blamed'] = []
  const unfinished: string[] = []
  const tailed: TestFederation['tailed'] = []
  const configs = Object.entries(upstreams).map(([name, { config }]) =>
    upstreamConfig(name, config),
  )
  const registry = createRegistry({
    configs,
    reach: ({ name }) => {
      const upstream = upstreams[name]
      if (upstream === undefined) throw new Error(`no upstream ${name}`)
      return upstream
    },
    profiles: state.profiles,
    clock,
    random: () => 0.5,
    events: { state: () => {}, breaker: () => {}, profileMismatch: () => {} },
  })
  const federation = await createFederation({
    name: 'test',
    config: {
      upstreams: configs,
      tiers: setup.tiers ?? [],
      recall: { ...recallConfig, ...setup.recall },
    },
    log: { ...RETENTION, tail: undefined, ...setup.log },
    registry,
    state,
    tokenizer: new Tokenizer(),
    clock,
    random: () => 0.5,
    newId,
    ownerMismatch: setup.ownerMismatch ?? 'deny',
    events: {
      blame: (...entry) => blamed.push(entry),
      fusion: () => {},
      unfinished: (problem) => unfinished.push(problem),
      tail: (...entry) => tailed.push(entry),
    },
    ...(setup.step === undefined ? {} : { step: setup.step }),
    ...(setup.places === undefined ? {} : { places: setup.places }),
  })
  return {
    federation,
    registry,
    state,
    blamed,
    unfinished,
    tailed,
    async close() {
      await federation.close()
      await registry.close()
      state.close()
    },
  }
}
