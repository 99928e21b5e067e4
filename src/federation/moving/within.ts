import type { Context } from '../../protocol/memory.js'
import { ask } from '../fan-out.js'
import { type Located, locateAt } from '../locate.js'
import type { Parts } from '../parts.js'
import { type Failed, failure } from '../writing/writing.js'
import type { Moving } from './moves.js'

/** How a move within one upstream ended. */
export type Within = Failed | { readonly state: 'done'; readonly arrived: Located[] }

/** Within one upstream the upstream itself moves, and loses nothing of what it knows. */
export async function promoteWithin(
  parts: Parts,
  moving: Moving,
  context: Context,
): Promise<Within> {
  const { to, tier, owner, salience, records } = moving
  const leaving = records.filter(({ record }) => record.tier !== tier)
  if (leaving.length === 0) return { state: 'done', arrived: [] }
  const ids = leaving.map(({ hereId }) => hereId)
  const params = to.translation.promoting(ids, { tier, owner, salience })
  const asking = { source: to, params, owner }
  const { result, thrown } = await ask('memory/promote', asking, context, parts.clock)
  if (result === undefined) return failure(thrown)
  if (result.promoted >= ids.length) return { state: 'done', arrived: leaving }
  return {
    state: 'done',
    arrived: await arrivedOf(parts, { ...moving, records: leaving }, context),
  }
}

/** Where an upstream counts fewer than it was asked for, some are gone meanwhile; the others are looked for. */
async function arrivedOf(
  parts: Parts,
  { to, tier, owner, records }: Moving,
  context: Context,
): Promise<Located[]> {
  const ids = records.map(({ record }) => record.id)
  const { located } = await locateAt(parts, to, { ids, owner }, context)
  const there = located.filter(({ record }) => record.tier === tier)
  const arrived = new Set(there.map(({ record }) => record.id))
  return records.filter(({ record }) => arrived.has(record.id))
}
