import { A2mError } from '../protocol/errors.js'
import { EXTENSION } from '../protocol/extension.js'
import type { Context } from '../protocol/memory.js'
import type { ParamsOf, ResultOf } from '../protocol/methods.js'
import type { Owner } from '../protocol/scope.js'
import { parseInstant } from '../protocol/time.js'
import { countTiers } from './counts.js'
import { grouped } from './grouping.js'
import type { Layout, TierLayout } from './layout.js'
import { batches, groupOf, holder, type Located, listAll, refuseSilence } from './locate.js'
import type { Handler, Parts } from './parts.js'
import { tierNamed } from './plan.js'
import { moveKeys } from './promote.js'
import { relocate, withGroups } from './relocate.js'
import { erase, unstoppable, writeError } from './writing.js'

type Result = ResultOf<'memory/consolidate'>

/**
 * Makes room in tiers that hold more of an owner's records than their capacity: the oldest groups whole go to where the tier
 * spills to, or are dropped where the configuration says so. Tiers that spill come before those they spill to.
 */
export const consolidate: Handler<ParamsOf<'memory/consolidate'>, Result> = (
  parts,
  params,
  context,
) => {
  const owner = params[EXTENSION]?.owner
  return parts.locks.run(moveKeys(owner), context, async () => {
    let moved = 0
    let dropped = 0
    for (const tier of spillOrder(parts.layout())) {
      const surplus = await surplusOf(parts, tier, owner, context)
      if (surplus.length === 0) continue
      const { spillTo } = tier
      if (spillTo === undefined)
        dropped += await drop(parts, { surplus, tier, owner }, unstoppable(context))
      else moved += await spill(parts, { surplus, spillTo, owner }, unstoppable(context))
    }
    const { counts } = await countTiers(parts, owner, context)
    return { moved, promoted: 0, dropped, summarized: 0, counts: Object.fromEntries(counts) }
  })
}

/** The configuration has no circle of spills, so that each tier's chain ends. */
function spillOrder({ tiers }: Layout): TierLayout[] {
  const byName = new Map(tiers.map((tier) => [tier.name, tier]))
  const length = (tier: TierLayout): number => {
    const next = tier.spillTo === undefined ? undefined : byName.get(tier.spillTo)
    return next === undefined ? 0 : 1 + length(next)
  }
  const bounded = tiers.filter(({ capacity, home }) => capacity > 0 && home !== undefined)
  return bounded.toSorted((a, b) => length(b) - length(a))
}

async function surplusOf(
  parts: Parts,
  tier: TierLayout,
  owner: Owner,
  context: Context,
): Promise<Located[]> {
  if (tier.spillTo === undefined && tier.overflow === 'keep') return []
  const { located, silent, clipped } = await listAll(parts, { tier: tier.name, owner }, context)
  refuseSilence(silent)
  const [short] = clipped.filter((source) => source.writable)
  if (short !== undefined) throw unreadable(tier, short.name)
  const movable = located.filter(({ source }) => source.writable)
  return byHolder(movable).flatMap((records) => oldest(records, records.length - tier.capacity))
}

function unreadable(tier: TierLayout, upstream: string): A2mError {
  const message = `tier "${tier.name}" cannot be read whole: ${upstream} lets fewer records be read than it holds`
  return new A2mError('INTERNAL_ERROR', message, { tier: tier.name, upstream })
}

function byHolder(located: readonly Located[]): Located[][] {
  return [...grouped(located, ({ record }) => holder(record)).values()]
}

/** Whole groups, until at least `surplus` records have been taken; a group is as old as the youngest of it. */
function oldest(records: readonly Located[], surplus: number): Located[] {
  const taken: Located[] = []
  for (const group of byAge(records)) {
    if (taken.length >= surplus) break
    taken.push(...group)
  }
  return taken
}

function byAge(records: readonly Located[]): Located[][] {
  const groups = grouped(records, ({ record }) => groupOf(record))
  const age = (members: readonly Located[]) =>
    Math.max(...members.map(({ at }) => parseInstant(at) ?? 0))
  return [...groups.values()]
    .map((members) => ({ members, at: age(members) }))
    .sort((a, b) => a.at - b.at)
    .map(({ members }) => members)
}

function spill(
  parts: Parts,
  { surplus, spillTo, owner }: { surplus: readonly Located[]; spillTo: string; owner: Owner },
  context: Context,
): Promise<number> {
  const tier = tierNamed(parts.layout(), spillTo)
  return relocate(parts, { located: surplus, tier, owner }, context)
}

/** A group goes whole or stays: one that has members in other tiers is not this tier's to drop. */
async function drop(
  parts: Parts,
  { surplus, tier, owner }: { surplus: readonly Located[]; tier: TierLayout; owner: Owner },
  context: Context,
): Promise<number> {
  let dropped = 0
  const whole = await withGroups(parts, surplus, owner, context)
  const elsewhere = whole.filter(({ record }) => record.tier !== tier.name)
  const spread = new Set(elsewhere.map(({ record }) => groupOf(record)))
  const going = whole.filter(({ record }) => !spread.has(groupOf(record)))
  for (const { source, owner: whose, records } of batches(going)) {
    const ids = records.map(({ hereId }) => hereId)
    const { gone, failed } = await erase(parts, source, { ids, owner: whose }, context)
    dropped += gone
    if (failed !== undefined) throw writeError(source, failed, { dropped })
  }
  return dropped
}
