import { join } from 'node:path'
import { Registry as MetricRegistry } from 'prom-client'
import { type Config, STATE_FILE } from '../config/config.js'
import type { Pushing } from '../edge/with-push.js'
import { createFederation, type Federation } from '../federation/federation.js'
import { createIds } from '../protocol/ids.js'
import { openState, type State } from '../state/state.js'
import { createMetrics, type Metrics } from '../telemetry/metrics.js'
import { Tokenizer } from '../text/tokenizer.js'
import { createRegistry, type Registry } from '../upstreams/registry.js'
import type { Reached } from '../upstreams/upstream.js'
import { type Auditing, openAuditing } from './auditing.js'
import type { Closers } from './closers.js'
import type { AppDeps } from './deps.js'
import { openEngines } from './engines.js'
import { federationEvents, Standing } from './events.js'
import { makeFolder } from './folder.js'
import { reachAll } from './reach.js'
import { refuseTwinTiers } from './report.js'
import { serving } from './serving.js'

/** A gateway without its edges. */
export interface Core {
  readonly federation: Federation
  /** The federation as edges serve it. */
  readonly served: Pushing
  readonly auditing: Auditing | undefined
  readonly registry: Registry
  readonly standing: Standing
  readonly metrics: Metrics
  readonly metricRegistry: MetricRegistry
}

/** Opens everything from the inside out; what was opened is told to `closers` at once. */
export async function openCore(config: Config, deps: AppDeps, closers: Closers): Promise<Core> {
  const standing = new Standing(config.federation.upstreams)
  const metricRegistry = new MetricRegistry()
  const metrics = createMetrics({ registry: metricRegistry, upstreams: () => standing.all() })
  const auditing = await openAuditing({ config, deps, metricRegistry, closers })
  const opening = { config, deps, standing, metrics, closers }
  const state = await openStateIn(opening)
  const registry = await openRegistry(opening, state)
  const federation = await openFederation(opening, state, registry)
  const served = serving({ config, federation, deps, auditing })
  return { federation, served, auditing, registry, standing, metrics, metricRegistry }
}

interface Opening {
  readonly config: Config
  readonly deps: AppDeps
  readonly standing: Standing
  readonly metrics: Metrics
  readonly closers: Closers
}

async function openStateIn({ config, deps, closers }: Opening): Promise<State> {
  const { dataDir, durability } = config
  await makeFolder(dataDir)
  const path = deps.purpose === 'look' ? ':memory:' : join(dataDir, STATE_FILE)
  const state = openState({ path, durability })
  closers.add(() => state.close())
  return state
}

async function openRegistry(opening: Opening, { profiles }: State): Promise<Registry> {
  const { config, deps, standing, metrics, closers } = opening
  const { upstreams, tiers } = config.federation
  const { durability } = config
  const happened = metrics.happened
  const reached = await reachAll(upstreams, { ...deps, tiers, durability, happened })
  const registry = createRegistry({
    configs: upstreams,
    reach: ({ name }) => wayTo(name, reached),
    profiles,
    clock: deps.clock,
    random: deps.random,
    events: standing.events(deps.log, metrics),
  })
  closers.add(() => registry.close())
  return registry
}

function wayTo(name: string, reached: ReadonlyMap<string, Reached>): Reached {
  const way = reached.get(name)
  if (way === undefined) throw new TypeError(`upstream ${name} was not opened`)
  return way
}

async function openFederation(
  { config, deps, metrics, closers }: Opening,
  state: State,
  registry: Registry,
): Promise<Federation> {
  const { clock, random, randomBytes, log } = deps
  const engines = await openEngines(config, deps, closers)
  const federation = await createFederation({
    name: config.name,
    config: config.federation,
    log: config.events,
    registry,
    state,
    tokenizer: new Tokenizer(),
    clock,
    random,
    newId: createIds(clock.now, randomBytes),
    ownerMismatch: config.auth?.ownerMismatch ?? 'deny',
    engines,
    events: federationEvents(log, metrics),
  })
  closers.add(() => federation.close())
  if (deps.purpose === 'serve') refuseTwinTiers(config, federation.report())
  return federation
}
