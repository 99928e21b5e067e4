import { setImmediate } from 'node:timers/promises'
import { EXTENSION } from '../../protocol/extension.js'
import type { Context } from '../../protocol/memory.js'
import type { ParamsOf, ResultOf } from '../../protocol/methods.js'
import type { Owner } from '../../protocol/scope.js'
import type { Layout, TierLayout } from '../layout.js'
import {
  batches,
  groupOf,
  type Located,
  listAll,
  refuseClipped,
  refuseSilence,
  shownIds,
} from '../locate.js'
import type { Page } from '../log/chronicle.js'
import type { Handler, Parts } from '../parts.js'
import { tierNamed } from '../plan.js'
import { countTiers } from '../reading/counts.js'
import { erase, unstoppable, writeError } from '../writing/writing.js'
import { moveKeys } from './promote.js'
import { isBeyond, relocate, withGroups } from './relocate.js'
import { earnedIn, surplusIn } from './surplus.js'
import { Tally } from './tally.js'
import { onTheirWay } from './unfinished-moves.js'

type Result = ResultOf<'memory/consolidate'>

/**
 * Applies the rules of every tier to an owner's records: what has been used enough is promoted, what is over a capacity goes to
 * where the tier spills to, or is dropped where the configuration says so. Tiers that records leave come before those that they reach.
 */
export const consolidate: Handler<ParamsOf<'memory/consolidate'>, Result> = (
  parts,
  params,
  context,
) => {
  const owner = params[EXTENSION]?.owner
  return parts.locks.run(moveKeys(owner), context, async () => {
    await parts.uses.settled(owner)
    const page = parts.chronicle.begin({ kind: 'consolidated', owner })
    const tally = new Tally()
    const { tiers } = parts.layout()
    await orUnknown(page, () => reorganise(parts, { tiers, owner, page, tally }, context))
    page.done({ kind: 'consolidated', shares: tally.shares() })
    return { ...tally.total(), counts: await countsOf(parts, owner, context) }
  })
}

/** What fails half-way leaves the page to recovery, which tells what was done. */
export async function orUnknown<T>(page: Page, task: () => Promise<T>): Promise<T> {
  try {
    return await task()
  } catch (thrown) {
    page.unknown()
    throw thrown
  }
}

/** An owner's records by tier. */
export async function countsOf(
  parts: Parts,
  owner: Owner,
  context: Context,
): Promise<Record<string, number>> {
  const { counts } = await countTiers(parts, owner, context)
  return Object.fromEntries(counts)
}

export interface Reorganisation {
  /** Those whose rules are applied. */
  readonly tiers: readonly TierLayout[]
  readonly owner: Owner
  readonly page: Page
  readonly tally: Tally
}

/** Applies the rules of tiers to what is in them. */
export async function reorganise(
  parts: Parts,
  reorganisation: Reorganisation,
  context: Context,
): Promise<void> {
  const ruled = new Set(reorganisation.tiers.filter(hasRules))
  for (const tier of sourcesFirst(parts.layout()).filter((one) => ruled.has(one))) {
    const held = await heldIn(parts, tier, reorganisation.owner, context)
    await othersFirst()
    const left = await promoteEarned(parts, held, { ...reorganisation, tier }, context)
    await makeRoom(parts, left, { ...reorganisation, tier }, context)
  }
}

/** A tier may hold very many records: between two walks over them, whatever else has come in goes first. */
async function othersFirst(): Promise<void> {
  await setImmediate()
}

function hasRules({ home, capacity, spillTo, overflow, promoteAfter }: TierLayout): boolean {
  const bounded = capacity > 0 && (spillTo !== undefined || overflow === 'drop')
  return home !== undefined && (bounded || promoteAfter !== undefined)
}

/** A tier that records come into from others is after them, so that one pass is enough. */
function sourcesFirst({ tiers }: Layout): TierLayout[] {
  const reach = new Map(tiers.map((tier) => [tier, reachOf([tier], tiers).size]))
  return tiers.toSorted((a, b) => (reach.get(b) ?? 0) - (reach.get(a) ?? 0))
}

/** The tiers that records get to by themselves from these, which are among them. */
export function reachOf(
  from: readonly TierLayout[],
  tiers: readonly TierLayout[],
): ReadonlySet<TierLayout> {
  const reached = new Set(from)
  for (const { spillTo, promoteTo } of reached) {
    for (const next of tiers) {
      if (next.name === spillTo || next.name === promoteTo) reached.add(next)
    }
  }
  return reached
}

/** What consolidate may move or drop of a tier; one that cannot be read whole is left alone, with an error. */
async function heldIn(
  parts: Parts,
  tier: TierLayout,
  owner: Owner,
  context: Context,
): Promise<Located[]> {
  const wanted = { tier: tier.name, owner, outline: true }
  const { located, silent, clipped } = await listAll(parts, wanted, context)
  refuseSilence(silent)
  refuseClipped(clipped, `tier "${tier.name}"`, { tier: tier.name })
  const onWay = onTheirWay(parts)
  return located.filter((found) => found.source.writable && !onWay(found))
}

interface Ruling extends Reorganisation {
  readonly tier: TierLayout
}

/** Returns what is left in the tier. */
async function promoteEarned(
  parts: Parts,
  held: readonly Located[],
  { tier: { promoteAfter, promoteTo }, owner, page, tally }: Ruling,
  context: Context,
): Promise<readonly Located[]> {
  if (promoteAfter === undefined || promoteTo === undefined) return held
  const earned = earnedIn(held, promoteAfter)
  if (earned.length === 0) return held
  const tier = tierNamed(parts.layout(), promoteTo)
  const gone = new Set<string>()
  await relocate(
    parts,
    { located: earned, tier, owner, stuck: 'stay', part: { page, as: 'promoted' } },
    (records) => {
      tally.count(records, 'promoted', tier)
      context.touched?.('promoted', shownIds(records))
      for (const { record } of records) gone.add(groupOf(record))
    },
    unstoppable(context),
  )
  return held.filter(({ record }) => !gone.has(groupOf(record)))
}

async function makeRoom(
  parts: Parts,
  held: readonly Located[],
  ruling: Ruling,
  context: Context,
): Promise<void> {
  const { tier, owner, page, tally } = ruling
  const surplus = tier.capacity === 0 ? [] : surplusIn(held, tier, parts.clock.now())
  if (surplus.length === 0) return
  await othersFirst()
  if (tier.spillTo === undefined) return drop(parts, surplus, ruling, unstoppable(context))
  const spilling = { located: surplus, tier: tierNamed(parts.layout(), tier.spillTo), owner }
  await relocate(
    parts,
    { ...spilling, stuck: 'stay', part: { page, as: 'moved' } },
    (records) => {
      tally.count(records, 'moved', spilling.tier)
      context.touched?.('moved', shownIds(records))
    },
    unstoppable(context),
  )
}

/** A group goes whole or stays: one that has members in other tiers, or beyond the caller's reach, is not to be dropped here. */
async function drop(
  parts: Parts,
  surplus: readonly Located[],
  { tier, owner, page, tally }: Ruling,
  context: Context,
): Promise<void> {
  if (tier.overflow !== 'drop') return
  const whole = await withGroups(parts.whole, surplus, owner, context)
  const elsewhere = whole.filter(
    (found) => found.record.tier !== tier.name || isBeyond(parts, found),
  )
  const spread = new Set(elsewhere.map(({ record }) => groupOf(record)))
  const going = whole.filter(({ record }) => !spread.has(groupOf(record)))
  for (const { source, owner: whose, records } of batches(going)) {
    const ids = records.map(({ hereId }) => hereId)
    const { gone, failed } = await erase(parts, source, { ids, owner: whose }, context)
    page.note(whose, { dropped: gone })
    tally.add(whose, { dropped: gone })
    for (const found of records) tally.note(found)
    if (gone > 0) context.touched?.('dropped', shownIds(records))
    if (failed !== undefined) throw writeError(source, failed, { dropped: tally.total().dropped })
  }
}
