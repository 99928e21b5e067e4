import { LRUCache } from 'lru-cache'
import type { Context } from '../../protocol/memory.js'
import { type Owner, ownerKey } from '../../protocol/scope.js'
import { ask } from '../fan-out.js'
import type { Source } from '../layout.js'
import type { Parts } from '../parts.js'
import { mixesOwners, needsOwner, type Target } from '../plan.js'
import { arrive } from './reading.js'

/** Records by tier, in the order of the layout; `stale` holds the tiers of which some upstream told its last known count. */
export interface TierCounts {
  readonly counts: ReadonlyMap<string, number>
  readonly stale: ReadonlySet<string>
}

/** The last known counts, by owner and upstream; they answer for an upstream that is down. */
export interface KnownCounts {
  get(key: string): ReadonlyMap<string, number> | undefined
  set(key: string, counts: ReadonlyMap<string, number>): unknown
}

/** Owners times upstreams whose last counts are kept. */
const MOST_KNOWN = 10_000

export function createKnownCounts(): KnownCounts {
  return new LRUCache<string, ReadonlyMap<string, number>>({ max: MOST_KNOWN })
}

/** The same for callers who see other records: what is counted for them answers for nobody else. `name` tells them from all others. */
export function knownCountsOf(known: KnownCounts, name: string): KnownCounts {
  return {
    get: (key) => known.get(`${name} ${key}`),
    set: (key, counts) => known.set(`${name} ${key}`, counts),
  }
}

/** Counts the caller's records by tier, asking every upstream now. */
export async function countTiers(
  parts: Parts,
  owner: Owner,
  context: Context,
): Promise<TierCounts> {
  const { tiers, sources, absent } = parts.layout()
  const counts = new Map(tiers.map(({ name }) => [name, 0]))
  const stale = new Set<string>()
  for (const tier of tiers) if (tier.home === undefined && absent.size > 0) stale.add(tier.name)
  const told = await Promise.all(sources.map((source) => countAt(parts, source, owner, context)))
  sources.forEach((source, index) => {
    const here = told[index] ?? parts.knownCounts.get(key(source, owner))
    for (const tier of source.tiers) {
      counts.set(tier, (counts.get(tier) ?? 0) + (here?.get(tier) ?? 0))
      if (told[index] === undefined) stale.add(tier)
    }
  })
  return { counts, stale }
}

function key(source: Source, owner: Owner): string {
  return ownerKey(owner) + source.name
}

async function countAt(
  parts: Parts,
  source: Source,
  owner: Owner,
  context: Context,
): Promise<ReadonlyMap<string, number> | undefined> {
  if (mixesOwners(source, owner)) return new Map()
  if (needsOwner(source, owner)) return owner === null ? new Map() : undefined
  const counts = tellsCounts(parts, source, owner)
    ? await describedCounts(parts, source, owner, context)
    : await listedCounts(parts, source, owner, context)
  if (counts !== undefined) parts.knownCounts.set(key(source, owner), counts)
  return counts
}

/**
 * Describe counts by tier; whether it can be asked about records without an owner alone is the extension's to say. One that was
 * found to mix owners would count everybody's.
 */
function tellsCounts(
  { trust }: Parts,
  { name, profile, owners, veiled }: Source,
  owner: Owner,
): boolean {
  if (profile.tiers.length === 0 || veiled) return false
  if (owner !== undefined && trust.mixes(name)) return false
  return owner === undefined || profile.extended || (owners === 'apart' && owner !== null)
}

async function describedCounts(
  parts: Parts,
  source: Source,
  owner: Owner,
  context: Context,
): Promise<ReadonlyMap<string, number> | undefined> {
  const params = source.translation.describing(owner)
  const { result } = await ask('memory/describe', { source, params, owner }, context, parts.clock)
  if (result === undefined) return undefined
  const counts = new Map<string, number>()
  for (const { name, count } of result.tiers ?? []) {
    const tier = source.translation.tierName(name)
    if (tier !== undefined) counts.set(tier, count)
  }
  return counts
}

async function listedCounts(
  parts: Parts,
  source: Source,
  owner: Owner,
  context: Context,
): Promise<ReadonlyMap<string, number> | undefined> {
  const target: Target = { source, tiers: source.tiers, where: {} }
  const params = source.translation.reading({ tiers: source.tiers, owner, where: {}, limit: 0 }, {})
  const { result } = await ask('memory/timeline', { source, params, owner }, context, parts.clock)
  if (result === undefined) return undefined
  const counts = new Map<string, number>()
  for (const { record } of arrive(parts, result.records, target, owner).arrived) {
    const tier = record.tier ?? ''
    counts.set(tier, (counts.get(tier) ?? 0) + 1)
  }
  return counts
}
