import type { Limits } from '../protocol/methods.js'

/** One tier of a store; `capacity` is records an owner, 0 or absent unbounded, and is enforced by consolidate where `spill_to` is set. */
export interface TierOption {
  readonly name: string
  readonly kind?: string
  readonly capacity?: number
  readonly spill_to?: string
}

/** What a store is made from: plain JSON, so that it can be handed to a worker thread. */
export interface StoreOptions {
  /** The database file; its directory is made where it is missing. */
  readonly path: string
  /** What describe calls the store. */
  readonly name?: string
  /** In their order; the first takes records that name none. A bare name of one of the four kinds (§4.7) is of that kind. */
  readonly tiers?: readonly (string | TierOption)[]
  readonly access?: 'read-write' | 'read-only'
  /** What a committed write survives: `normal` the end of any process, `full` loss of power too. */
  readonly durability?: 'normal' | 'full'
  readonly limits?: Limits
  /** How many records recall gives where the caller names no limit. */
  readonly defaultLimit?: number
}

const KINDS: ReadonlySet<string> = new Set(['working', 'episodic', 'semantic', 'procedural'])

const DEFAULT_TIERS: readonly TierOption[] = [
  { name: 'working', kind: 'working', capacity: 64, spill_to: 'episodic' },
  { name: 'episodic', kind: 'episodic' },
  { name: 'semantic', kind: 'semantic' },
  { name: 'procedural', kind: 'procedural' },
]

/** The tiers in their order. Throws a RangeError where they are none, doubled, or spill to nowhere or in a circle. */
export function tiersOf({ tiers = DEFAULT_TIERS }: StoreOptions): readonly TierOption[] {
  const all = tiers.map((tier) => (typeof tier === 'string' ? named(tier) : tier))
  const names = new Set(all.map(({ name }) => name))
  if (names.size === 0) throw new RangeError('tiers: a store needs at least one')
  if (names.size < all.length || names.has('')) {
    throw new RangeError('tiers: each needs a name of its own')
  }
  for (const { name, spill_to } of all) {
    if (spill_to !== undefined && !names.has(spill_to)) {
      throw new RangeError(`tiers: ${name} spills to ${spill_to}, which is no tier of this store`)
    }
  }
  for (const tier of all) spillChain(tier, all)
  return all
}

function named(name: string): TierOption {
  return KINDS.has(name) ? { name, kind: name } : { name }
}

/** The tiers that a record spills through from this one on, itself first. */
export function spillChain(tier: TierOption, all: readonly TierOption[]): readonly TierOption[] {
  const chain: TierOption[] = []
  for (let at: TierOption | undefined = tier; at !== undefined; ) {
    if (chain.includes(at)) throw new RangeError(`tiers: ${tier.name} spills in a circle`)
    chain.push(at)
    const next: string | undefined = at.spill_to
    at = all.find(({ name }) => name === next)
  }
  return chain
}
