import { A2mError, invalidParams } from '../../protocol/errors.js'
import type { Context } from '../../protocol/memory.js'
import type { Owner } from '../../protocol/scope.js'
import { parseInstant } from '../../protocol/time.js'
import { portions } from '../grouping.js'
import type { Source, TierLayout } from '../layout.js'
import {
  type Batch,
  batches,
  groupOf,
  holder,
  type Located,
  listAll,
  placeOf,
  refuseSilence,
} from '../locate.js'
import type { Page } from '../log/chronicle.js'
import type { Parts } from '../parts.js'
import { mixesOwners, needsOwner } from '../plan.js'
import { type Journey, type Moving, moveAll, stepsOf } from './moves.js'
import { placeAt, placeIn } from './tally.js'
import { onTheirWay, unfinished } from './unfinished-moves.js'

export interface Relocation {
  readonly located: readonly Located[]
  readonly tier: TierLayout
  readonly owner: Owner
  /** Where a record cannot move: nothing does, or its group stays and the others go. */
  readonly stuck: 'refuse' | 'stay'
  /** What is added to the records' salience as they arrive. */
  readonly salience?: number | undefined
  /** What this is a part of, and what its records count as there. */
  readonly part?: { readonly page: Page; readonly as: 'moved' | 'promoted' } | undefined
  /** All that moves is in the journal before the first of it does. */
  readonly intent?: 'whole'
  /** Told of everything that is going to move, before any does. */
  readonly announce?: (leaving: readonly Located[]) => void
}

/**
 * Brings records into a tier, each with its whole group from wherever its members are, and tells which have moved, step by step;
 * those that are there already are not among them. Whether they can move is checked before any does.
 */
export async function relocate(
  parts: Parts,
  relocation: Relocation,
  moved: Journey['moved'],
  context: Context,
): Promise<void> {
  const { located, tier, owner, intent, announce } = relocation
  const { home } = tier
  if (home === undefined)
    throw invalidParams(`nothing can be moved to "${tier.name}": ${tier.homeless}`)
  const whole = await withGroups(parts.whole, located, owner, context)
  const leaving = whole.filter(({ record }) => record.tier !== tier.name)
  const onWay = onTheirWay(parts)
  const bound = (found: Located) => whyBound(parts, found, tier)
  const going = byAge(movable(leaving, home, { ...relocation, onWay, bound }))
  if (going.length > 0) announce?.(going)
  const steps = stepsOf(going).map((step) =>
    batches(step).map((batch) => movingOf(batch, home, relocation)),
  )
  await moveAll(parts.whole, { steps, intent, moved }, context)
}

function movingOf(
  { source, owner, records }: Batch,
  home: Source,
  { tier, salience, part }: Relocation,
): Moving {
  return { from: source, to: home, tier: tier.name, owner, records, salience, part }
}

/** A store orders records of one instant as they came in, so that they go as they were made. */
function byAge(located: readonly Located[]): Located[] {
  const instants = new Map(located.map((found) => [found, parseInstant(found.at) ?? 0]))
  return located.toSorted((a, b) => (instants.get(a) ?? 0) - (instants.get(b) ?? 0))
}

/** The records and all others of their groups; groups are of one owner, and foreign records are never of them. */
export async function withGroups(
  parts: Parts,
  located: readonly Located[],
  owner: Owner,
  context: Context,
): Promise<Located[]> {
  const own = located.filter(({ record }) => record.group !== undefined)
  const wanted = new Set(own.map(({ record }) => groupOf(record)))
  const joined = new Map(located.map((found) => [placeOf(found), found]))
  for (const groups of portions(
    [...new Set(own.map(({ record }) => record.group))],
    GROUPS_PER_ASK,
  )) {
    const listing = { where: { group: groups }, owner, outline: true }
    const members = await listAll(parts, listing, context)
    refuseSilence(members.silent)
    for (const found of members.located) {
      const foreign = found.record.id !== found.hereId
      if (!foreign && wanted.has(groupOf(found.record))) joined.set(placeOf(found), found)
    }
  }
  return [...joined.values()]
}

/** Groups in one ask: each record that comes back is held against all of them. */
const GROUPS_PER_ASK = 200

/** What keeps a record where it is beside the places themselves. */
interface Holding {
  readonly onWay: (found: Located) => boolean
  readonly bound: (found: Located) => A2mError | undefined
}

function movable(
  leaving: readonly Located[],
  home: Source,
  { tier, stuck, onWay, bound }: Relocation & Holding,
): readonly Located[] {
  const held = new Set<string>()
  for (const found of leaving) {
    const error = bound(found) ?? (onWay(found) ? stillMoving(found) : whyStuck(found, home, tier))
    if (error === undefined) continue
    if (stuck === 'refuse') throw error
    held.add(groupOf(found.record))
  }
  return held.size === 0 ? leaving : leaving.filter(({ record }) => !held.has(groupOf(record)))
}

/** A group goes whole, so that the caller's roles must reach every member of it, and with each where it is to go. */
export function whyBound({ reach }: Parts, found: Located, tier: TierLayout): A2mError | undefined {
  if (reach === undefined || reach.coversBoth(placeAt(found), placeIn(tier, found)))
    return undefined
  return new A2mError(
    'SCOPE_DENIED',
    `your roles do not let you take all of that to "${tier.name}", and what is of one group goes whole`,
  )
}

/** Whether a record is nothing for the caller to change. */
export function isBeyond({ reach }: Parts, found: Located): boolean {
  return reach !== undefined && !reach.covers(placeAt(found))
}

/** To move it again before its move is finished would leave it in two places. */
function stillMoving({ record }: Located): A2mError {
  return unfinished(`a move of "${record.id}" is not finished`)
}

function whyStuck(
  { source, record }: Located,
  home: Source,
  tier: TierLayout,
): A2mError | undefined {
  if (!source.writable) {
    return invalidParams(
      `"${record.id}" cannot move: it lives in ${source.name}, which is read-only`,
    )
  }
  if (mixesOwners(home, holder(record))) {
    return invalidParams(`"${tier.name}" lives at ${home.name}, which does not keep owners apart`)
  }
  if (needsOwner(home, holder(record))) {
    return invalidParams(
      `"${tier.name}" lives at ${home.name}, which keeps records of owners alone`,
    )
  }
  return undefined
}
