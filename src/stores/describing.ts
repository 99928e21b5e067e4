import { EXTENSION } from '../protocol/extension.js'
import {
  CAPABILITIES,
  type Capability,
  methodsOf,
  type ParamsOf,
  type ResultOf,
} from '../protocol/methods.js'
import { PROTOCOL } from '../protocol/versions.js'
import { METRICS } from './metric.js'
import { counts } from './moving.js'
import { keepsEvents, type StoreOptions } from './options.js'
import type { Shelf } from './shelf.js'

/** What every store on SQLite can do, for callers whose owners are known. */
const ALWAYS: readonly Capability[] = [
  'core',
  'tiers',
  'salience',
  'scopes',
  'sessions',
  'keys',
  'embeddings',
  'external',
]

/** What a store can do that keeps such events. */
export function provided(events: StoreOptions['events']): ReadonlySet<Capability> {
  return new Set(keepsEvents(events) ? [...ALWAYS, 'events'] : ALWAYS)
}

/** What a store says of itself (§4.1). Push is the transport's to add. */
export function describe(
  shelf: Shelf,
  params: ParamsOf<'memory/describe'>,
): ResultOf<'memory/describe'> {
  const { name, tiers, limits, events, vectors } = shelf
  const sums = counts(shelf, params)
  const capabilities = provided(events)
  const { metric } = vectors.space
  return {
    protocol: PROTOCOL,
    name,
    capabilities: CAPABILITIES.filter((capability) => capabilities.has(capability)),
    methods: methodsOf(capabilities),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    tiers: tiers.map((tier) => ({ ...tier, count: sums[tier.name] ?? 0 })),
    embeddings: { dimensions: vectors.space.dimensions(), metric, metrics: [...METRICS] },
    ...(capabilities.has('events') ? { events: { push: false } } : {}),
    [EXTENSION]: { version: 1 },
  }
}
