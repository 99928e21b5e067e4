import type { Description, Tier } from './methods.js'

/** What a server says of itself to somebody who may act for several owners: counts are of all of theirs together. */
export async function describedTogether(
  [first, ...rest]: readonly [string, ...string[]],
  describe: (owner: string) => Promise<Description>,
): Promise<Description> {
  const [description, others] = await Promise.all([
    describe(first),
    Promise.all(rest.map(describe)),
  ])
  const { tiers } = description
  if (tiers === undefined) return description
  return { ...description, tiers: tiers.map((tier) => others.reduce(withCount, tier)) }
}

/** The same tier with what another owner has in it; stale where any part is. */
function withCount(tier: Tier, { tiers = [] }: Description): Tier {
  const same = tiers.find(({ name }) => name === tier.name)
  if (same === undefined) return tier
  const { stale = tier.stale } = same
  return { ...tier, count: tier.count + same.count, ...(stale === undefined ? {} : { stale }) }
}
