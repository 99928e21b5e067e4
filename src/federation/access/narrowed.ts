import type { Reach } from '../../protocol/access-reach.js'
import { inKeyRange, type KeyRange } from '../../protocol/key-prefix.js'
import type { Shows } from '../../upstreams/phrasing.js'
import type { Layout, Source, TierLayout } from '../layout.js'
import { veiled } from './veiled.js'

/** Why nothing can be written to a tier that is read elsewhere than where it lives. */
const NOT_THEIRS = 'where it lives is not yours to write to'

/** What of a layout is there within a reach: no tier and no upstream beyond it, and of each upstream no record beyond it. */
export function narrowed(layout: Layout, reach: Reach): Layout {
  const sources = layout.sources.flatMap((source) => sourceWithin(source, reach))
  const tiers = layout.tiers.flatMap((tier) => tierWithin(tier, { layout, sources, reach }))
  const mapped = new Set(layout.tiers.flatMap(({ upstreams }) => upstreams))
  const there = new Set(tiers.flatMap(({ upstreams }) => upstreams))
  const isThere = (name: string) =>
    there.has(name) || (!mapped.has(name) && reach.covers({ upstream: name }))
  const absent = new Map([...layout.absent].filter(([name]) => isThere(name)))
  const undecided = new Set([...layout.undecided].filter(isThere))
  return { tiers, sources, absent, undecided, problems: [] }
}

function sourceWithin(source: Source, reach: Reach): Source[] {
  const { name, translation, upstream } = source
  const tiers = source.tiers.filter((tier) => reach.covers({ tier, upstream: name }))
  if (tiers.length === 0) return []
  const ranges = new Map(tiers.flatMap((tier) => bounded(tier, reach.keysAt(tier, name))))
  if (ranges.size === 0) return [{ ...source, tiers, translation: translation.narrowed(tiers) }]
  const within = translation.narrowed(tiers, showing(ranges))
  const memory = veiled(upstream.memory, {
    shows: (record) => within.isShown(record),
    clamp: (limit) => within.clamp(limit),
  })
  return [{ ...source, tiers, memory, translation: within, veiled: true }]
}

type Ranges = readonly KeyRange[]

function bounded(tier: string, ranges: Ranges | undefined): (readonly [string, Ranges])[] {
  return ranges === undefined ? [] : [[tier, ranges]]
}

/** A record without a key is under no prefix and beyond none. */
function showing(ranges: ReadonlyMap<string, Ranges>): Shows {
  return (tier, key) => {
    if (key === undefined) return true
    return ranges.get(tier)?.some((range) => inKeyRange(key, range)) ?? true
  }
}

interface Within {
  readonly layout: Layout
  readonly sources: readonly Source[]
  readonly reach: Reach
}

function tierWithin(tier: TierLayout, within: Within): TierLayout[] {
  const { name, home, upstreams } = tier
  const there = upstreams.filter((upstream) => within.reach.covers({ tier: name, upstream }))
  if (there.length === 0) return []
  const [lives = ''] = upstreams
  const mine = there.includes(lives)
  return [
    {
      ...tier,
      upstreams: there,
      home: mine ? within.sources.find((source) => source.name === home?.name) : undefined,
      homeless: mine ? tier.homeless : NOT_THEIRS,
      spillTo: reachable(tier, tier.spillTo, within),
      promoteTo: reachable(tier, tier.promoteTo, within),
    },
  ]
}

/** Where records go by themselves, if what lets its holder take them there lets it put them down there. */
function reachable(
  from: TierLayout,
  to: string | undefined,
  { layout, reach }: Within,
): string | undefined {
  const target = layout.tiers.find(({ name }) => name === to)
  if (target === undefined) return undefined
  return reach.coversBoth(livingPlace(from), livingPlace(target)) ? to : undefined
}

function livingPlace({ name, upstreams: [upstream] }: TierLayout) {
  return { tier: name, upstream }
}
