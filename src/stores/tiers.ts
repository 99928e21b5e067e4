import type { StoreOptions, TierOption } from './options.js'

const KINDS: ReadonlySet<string> = new Set(['working', 'episodic', 'semantic', 'procedural'])

const DEFAULT_TIERS: readonly TierOption[] = [
  { name: 'working', kind: 'working', capacity: 64, spill_to: 'episodic', per_session: true },
  { name: 'episodic', kind: 'episodic' },
  { name: 'semantic', kind: 'semantic' },
  { name: 'procedural', kind: 'procedural' },
]

/**
 * The tiers in their order. Throws a RangeError where they are none, doubled, lead nowhere or in a circle, spill into
 * procedural memory (§4.7), or have a number that means nothing.
 */
export function tiersOf({ tiers = DEFAULT_TIERS }: StoreOptions): readonly TierOption[] {
  const all = tiers.map((tier) => (typeof tier === 'string' ? named(tier) : tier))
  const names = new Set(all.map(({ name }) => name))
  if (names.size === 0) throw new RangeError('tiers: a store needs at least one')
  if (names.size < all.length || names.has('')) {
    throw new RangeError('tiers: each needs a name of its own')
  }
  for (const tier of all) check(tier, all)
  return all
}

function named(name: string): TierOption {
  return KINDS.has(name) ? { name, kind: name } : { name }
}

function check(tier: TierOption, all: readonly TierOption[]): void {
  const { name, spill_to, promote_to, promote_after, half_life } = tier
  const spills = requireTarget(tier, spill_to, 'spills', all)
  if (spills?.kind === 'procedural') {
    throw new RangeError(`tiers: ${name} spills to ${spill_to}, and nothing spills into procedures`)
  }
  requireTarget(tier, promote_to, 'promotes', all)
  refuseCircle(tier, all, 'spill_to')
  refuseCircle(tier, all, 'promote_to')
  if (promote_after !== undefined && !(promote_after >= 1)) {
    throw new RangeError(`tiers: ${name} needs a promote_after of 1 or more uses`)
  }
  if (half_life !== undefined && !(half_life > 0)) {
    throw new RangeError(`tiers: ${name} needs a half_life of more than 0 seconds`)
  }
}

function requireTarget(
  { name }: TierOption,
  target: string | undefined,
  does: 'spills' | 'promotes',
  all: readonly TierOption[],
): TierOption | undefined {
  if (target === undefined) return undefined
  const found = all.find((tier) => tier.name === target)
  if (found !== undefined) return found
  throw new RangeError(`tiers: ${name} ${does} to ${target}, which is no tier of this store`)
}

function refuseCircle(
  tier: TierOption,
  all: readonly TierOption[],
  by: 'spill_to' | 'promote_to',
): void {
  const passed = new Set<TierOption>()
  for (let at: TierOption | undefined = tier; at !== undefined; ) {
    if (passed.has(at)) {
      const does = by === 'spill_to' ? 'spills' : 'promotes'
      throw new RangeError(`tiers: ${tier.name} ${does} in a circle`)
    }
    passed.add(at)
    const next: string | undefined = at[by]
    at = all.find(({ name }) => name === next)
  }
}

/** The tiers that records get to from this one by themselves, itself among them. */
export function reachOf(tier: TierOption, all: readonly TierOption[]): ReadonlySet<TierOption> {
  const reached = new Set([tier])
  for (const { spill_to, promote_to } of reached) {
    for (const next of all) {
      if (next.name === spill_to || next.name === promote_to) reached.add(next)
    }
  }
  return reached
}

/** A tier that records come into from others is after them, so that one pass is enough. */
export function sourcesFirst(tiers: readonly TierOption[]): readonly TierOption[] {
  const reach = new Map(tiers.map((tier) => [tier, reachOf(tier, tiers).size]))
  return tiers.toSorted((left, right) => (reach.get(right) ?? 0) - (reach.get(left) ?? 0))
}
