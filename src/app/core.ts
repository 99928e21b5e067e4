import { join } from 'node:path'
import { type Config, STATE_FILE } from '../config/config.js'
import { within } from '../config/federations.js'
import type { View } from '../config/views.js'
import type { Pushing } from '../edge/with-push.js'
import { createFederation, type Federation } from '../federation/federation.js'
import { createIds } from '../protocol/ids.js'
import { openState, type State } from '../state/state.js'
import type { Metrics } from '../telemetry/metrics.js'
import { Tokenizer } from '../text/tokenizer.js'
import { createRegistry, type Registry } from '../upstreams/registry.js'
import type { Reached } from '../upstreams/upstream.js'
import type { Closers } from './closers.js'
import type { AppDeps } from './deps.js'
import { openEngines } from './engines.js'
import { federationEvents, type Standing } from './events.js'
import { makeFolder } from './folder.js'
import { logOf, metricsOf } from './naming.js'
import { reachAll } from './reach.js'
import { refuseTwinTiers } from './report.js'
import { serving } from './serving.js'
import type { Shared } from './shared.js'
import type { Signing } from './signing.js'

/** One federation of a gateway, without edges. */
export interface Core {
  readonly name: string
  /** The configuration as if this federation were the only one. */
  readonly config: Config
  readonly federation: Federation
  /** The federation as edges serve it. */
  readonly served: Pushing
  readonly registry: Registry
  readonly standing: Standing
}

export interface CoreParts {
  readonly view: View
  readonly standing: Standing
  readonly shared: Shared
  readonly deps: AppDeps
  readonly closers: Closers
}

/** Opens one federation from the inside out; what was opened is told to `closers` at once. */
export async function openCore(parts: CoreParts): Promise<Core> {
  const { view, standing, shared, closers } = parts
  const { name, config } = view
  const deps = { ...parts.deps, log: logOf(name, parts.deps.log) }
  const metrics = metricsOf(name, shared.metrics)
  const { signing } = shared
  const opening = { view, config, deps, standing, metrics, closers, signing }
  const state = await openStateIn(opening)
  const registry = await openRegistry(opening, state)
  const federation = await openFederation(opening, state, registry)
  shared.federations.push(federation)
  const served = await serving({ name, config, federation, deps, shared, closers })
  return { name, config, federation, served, registry, standing }
}

interface Opening {
  readonly view: View
  readonly config: Config
  readonly deps: AppDeps
  readonly standing: Standing
  readonly metrics: Metrics
  readonly closers: Closers
  readonly signing: Signing | undefined
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
  const { view, config, deps, standing, metrics, closers, signing } = opening
  const { upstreams, tiers } = config.federation
  const { durability } = config
  const happened = metrics.happened
  const around = { ...deps, tiers, durability, happened, signing, federation: view.name }
  const reached = await reachAll(upstreams, around)
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
  { view, config, deps, metrics, closers }: Opening,
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
    places: config.roles === undefined ? 'untold' : 'kept',
    events: federationEvents(log, metrics),
  })
  closers.add(() => federation.close())
  if (deps.purpose === 'serve') {
    within(view.path, () => refuseTwinTiers(config, federation.report()))
  }
  return federation
}
