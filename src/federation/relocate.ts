import { invalidParams } from '../protocol/errors.js'
import type { Context } from '../protocol/memory.js'
import type { Owner } from '../protocol/scope.js'
import { parseInstant } from '../protocol/time.js'
import { identityOf } from '../upstreams/translate.js'
import type { Page } from './chronicle.js'
import { ask } from './fan-out.js'
import type { Source, TierLayout } from './layout.js'
import {
  type Batch,
  batches,
  groupOf,
  holder,
  type Located,
  listAll,
  locateAt,
  refuseSilence,
} from './locate.js'
import { type Moved, moveRecords, steps } from './moves.js'
import type { Parts } from './parts.js'
import { mixesOwners } from './plan.js'
import { recordLocks } from './record-locks.js'
import { writeError } from './writing.js'

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
  /** All that moves to another upstream is in the journal before the first of it does. */
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
  moved: Moved,
  context: Context,
): Promise<void> {
  const { located, tier, owner, announce } = relocation
  const { home } = tier
  if (home === undefined)
    throw invalidParams(`nothing can be moved to "${tier.name}": ${tier.homeless}`)
  const whole = await withGroups(parts, located, owner, context)
  const leaving = whole.filter(({ record }) => record.tier !== tier.name)
  const going = byAge(movable(leaving, home, relocation))
  if (going.length > 0) announce?.(going)
  for (const batch of batches(going)) {
    if (batch.source.name === home.name)
      await promoteWithin(parts, { ...batch, relocation }, moved, context)
    else await moveAcross(parts, { ...batch, home, relocation }, moved, context)
  }
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
  const joined = new Map(located.map((found) => [place(found), found]))
  for (const groups of portions([...new Set(own.map(({ record }) => record.group))])) {
    const listing = { where: { group: groups }, owner, outline: true }
    const members = await listAll(parts, listing, context)
    refuseSilence(members.silent)
    for (const found of members.located) {
      const foreign = found.record.id !== found.hereId
      if (!foreign && wanted.has(groupOf(found.record))) joined.set(place(found), found)
    }
  }
  return [...joined.values()]
}

/** Groups in one ask: each record that comes back is held against all of them. */
const GROUPS_PER_ASK = 200

function portions<T>(items: readonly T[]): T[][] {
  const portions: T[][] = []
  for (let start = 0; start < items.length; start += GROUPS_PER_ASK)
    portions.push(items.slice(start, start + GROUPS_PER_ASK))
  return portions
}

function place({ source, record }: Located): string {
  return `${source.name}:${identityOf(record)}`
}

function movable(
  leaving: readonly Located[],
  home: Source,
  { tier, stuck }: Relocation,
): readonly Located[] {
  const held = new Set<string>()
  for (const found of leaving) {
    const reason = whyStuck(found, home, tier)
    if (reason === undefined) continue
    if (stuck === 'refuse') throw invalidParams(reason)
    held.add(groupOf(found.record))
  }
  return held.size === 0 ? leaving : leaving.filter(({ record }) => !held.has(groupOf(record)))
}

function whyStuck({ source, record }: Located, home: Source, tier: TierLayout): string | undefined {
  if (!source.writable) {
    return `"${record.id}" cannot move: it lives in ${source.name}, which is read-only`
  }
  if (mixesOwners(home, holder(record))) {
    return `"${tier.name}" lives at ${home.name}, which does not keep owners apart`
  }
  return undefined
}

interface Going extends Batch {
  readonly relocation: Relocation
}

function moveAcross(
  parts: Parts,
  { source, owner, records, home, relocation }: Going & { readonly home: Source },
  moved: Moved,
  context: Context,
): Promise<void> {
  const { tier, salience, part, intent } = relocation
  const cause = part && { intent: part.page.id, as: part.as }
  const way = { from: source, to: home, tier: tier.name }
  const moving = { ...way, owner, records, salience, cause, intent }
  return moveRecords(parts, moving, moved, context)
}

/** Within one upstream the upstream itself moves, and loses nothing of what it knows. */
async function promoteWithin(
  parts: Parts,
  { source, owner, records, relocation }: Going,
  moved: Moved,
  context: Context,
): Promise<void> {
  const { tier, salience, part } = relocation
  for (const step of steps(records)) {
    const ids = step.map(({ hereId }) => hereId)
    const params = source.translation.promoting(ids, { tier: tier.name, owner, salience })
    const { result, thrown } = await parts.locks.run(recordLocks(step), context, () =>
      ask('memory/promote', { source, params }, context, parts.clock),
    )
    if (result === undefined)
      throw writeError(source, { state: 'failed', outcome: 'unknown', thrown }, {})
    const there =
      result.promoted >= ids.length
        ? step
        : await arrivedOf(parts, { source, owner, records: step }, tier, context)
    part?.page.note(owner, { [part.as]: there.length })
    moved(there)
  }
}

/** Where an upstream counts fewer than it was asked for, some are gone meanwhile; the others are looked for. */
async function arrivedOf(
  parts: Parts,
  { source, owner, records }: Batch,
  tier: TierLayout,
  context: Context,
): Promise<Located[]> {
  const ids = records.map(({ record }) => record.id)
  const { located } = await locateAt(parts, source, { ids, owner }, context)
  const there = located.filter(({ record }) => record.tier === tier.name)
  const arrived = new Set(there.map(({ record }) => record.id))
  return records.filter(({ record }) => arrived.has(record.id))
}
