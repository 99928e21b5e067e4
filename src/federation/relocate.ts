import { invalidParams } from '../protocol/errors.js'
import type { Context } from '../protocol/memory.js'
import type { Owner } from '../protocol/scope.js'
import { identityOf } from './arrivals.js'
import { ask } from './fan-out.js'
import type { Source, TierLayout } from './layout.js'
import {
  type Batch,
  batches,
  groupOf,
  holder,
  type Located,
  listAll,
  refuseSilence,
} from './locate.js'
import { moveRecords } from './moves.js'
import type { Parts } from './parts.js'
import { mixesOwners } from './plan.js'
import { writeError } from './writing.js'

export interface Relocation {
  readonly located: readonly Located[]
  readonly tier: TierLayout
  readonly owner: Owner
}

/**
 * Brings records into a tier, each with its whole group from wherever its members are. Checked whole first: where a member
 * cannot move, nothing does. Returns how many moved; those that are there already do not count.
 */
export async function relocate(
  parts: Parts,
  { located, tier, owner }: Relocation,
  context: Context,
): Promise<number> {
  const { home } = tier
  if (home === undefined)
    throw invalidParams(`nothing can be moved to "${tier.name}": ${tier.homeless}`)
  const whole = await withGroups(parts, located, owner, context)
  const leaving = whole.filter(({ record }) => record.tier !== tier.name)
  for (const found of leaving) refuseStuck(found, home, tier)
  let moved = 0
  for (const { source, owner: whose, records } of batches(leaving)) {
    moved +=
      source.name === home.name
        ? await promoteWithin(parts, { source, tier, owner: whose, records }, context)
        : await moveRecords(
            parts,
            { from: source, to: home, tier: tier.name, owner: whose, records },
            context,
          )
  }
  return moved
}

/** The records and all others of their groups; groups are of one owner, and foreign records are never of them. */
export async function withGroups(
  parts: Parts,
  located: readonly Located[],
  owner: Owner,
  context: Context,
): Promise<Located[]> {
  const own = located.filter(({ record }) => record.group !== undefined)
  const groups = [...new Set(own.map(({ record }) => record.group))]
  if (groups.length === 0) return [...located]
  const members = await listAll(parts, { where: { group: groups }, owner }, context)
  refuseSilence(members.silent)
  const wanted = new Set(own.map(({ record }) => groupOf(record)))
  const joined = new Map(located.map((found) => [place(found), found]))
  for (const found of members.located) {
    const foreign = found.record.id !== found.hereId
    if (!foreign && wanted.has(groupOf(found.record))) joined.set(place(found), found)
  }
  return [...joined.values()]
}

function place({ source, record }: Located): string {
  return `${source.name}:${identityOf(record)}`
}

function refuseStuck({ source, record }: Located, home: Source, tier: TierLayout): void {
  if (!source.writable) {
    throw invalidParams(
      `"${record.id}" cannot move: it lives in ${source.name}, which is read-only`,
    )
  }
  if (mixesOwners(home, holder(record))) {
    throw invalidParams(`"${tier.name}" lives at ${home.name}, which does not keep owners apart`)
  }
}

/** Within one upstream the upstream itself moves, and loses nothing of what it knows. */
async function promoteWithin(
  parts: Parts,
  { source, tier, owner, records }: Batch & { readonly tier: TierLayout },
  context: Context,
): Promise<number> {
  const ids = records.map(({ hereId }) => hereId)
  const params = source.translation.promoting(ids, { tier: tier.name, owner })
  const { result, thrown } = await ask('memory/promote', { source, params }, context, parts.clock)
  if (result === undefined)
    throw writeError(source, { state: 'failed', outcome: 'unknown', thrown }, {})
  return Math.min(result.promoted, ids.length)
}
