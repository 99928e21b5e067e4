import { invalidParams } from '../../protocol/errors.js'
import { EXTENSION } from '../../protocol/extension.js'
import type { Context } from '../../protocol/memory.js'
import type { ParamsOf, ResultOf } from '../../protocol/methods.js'
import { type Owner, ownerKey } from '../../protocol/scope.js'
import { type Located, locate, refuseAmbiguity, refuseSilence, shownIds } from '../locate.js'
import type { LockKey } from '../locks.js'
import type { Page } from '../log/chronicle.js'
import type { Handler, Parts } from '../parts.js'
import { tierNamed } from '../plan.js'
import { unstoppable } from '../writing/writing.js'
import { type Relocation, relocate } from './relocate.js'
import { placedShares, sharesOf } from './tally.js'
import { finishMoves } from './unfinished-moves.js'

type Params = ParamsOf<'memory/promote'>

/** Moves records to another tier, wherever it lives (§4.6). Ids that do not exist are not counted. */
export const promote: Handler<Params, ResultOf<'memory/promote'>> = (parts, params, context) => {
  const owner = params[EXTENSION]?.owner
  const tier = tierNamed(parts.layout(), params.tier)
  if (tier.home === undefined) {
    throw invalidParams(`tier: nothing can be moved to "${tier.name}": ${tier.homeless}`)
  }
  return parts.locks.run(moveKeys(owner), context, async () => {
    await parts.uses.settled(owner)
    const { ids, salience } = params
    await finishMoves(parts.whole, { owner, ids }, unstoppable(context))
    const { located, silent } = await locate(parts, { ids, owner }, context)
    refuseSilence(silent)
    refuseAmbiguity(located, ids)
    const going = { located, tier, owner, salience, stuck: 'refuse' } as const
    return { promoted: await carryOut(parts, going, unstoppable(context)) }
  })
}

/** Returns how many have moved. One that is in two places still counts once. */
async function carryOut(parts: Parts, going: Relocation, context: Context): Promise<number> {
  const { tier } = going
  const moved: Located[] = []
  let page: Page | undefined
  const announce = (leaving: readonly Located[]) => {
    page = parts.chronicle.begin({ kind: 'promoted', ids: sharesOf(leaving), tier: tier.name })
  }
  try {
    const told = (records: readonly Located[]): void => {
      moved.push(...records)
      context.touched?.('promoted', shownIds(records))
    }
    await relocate(parts, { ...going, announce }, told, context)
  } catch (thrown) {
    page?.unknown()
    throw thrown
  }
  const shares = placedShares(moved, tier)
  if (moved.length > 0) page?.done({ kind: 'promoted', tier: tier.name, shares })
  else page?.done()
  return shares.reduce((sum, { part }) => sum + part.length, 0)
}

/** Moves of one owner's records follow one another, and those of everybody's go alone. */
export function moveKeys(owner: Owner): LockKey[] {
  const own = `move:${ownerKey(owner)}`
  return owner === undefined ? [own] : [own, { shared: EVERYBODY }]
}

/** Whether records of the owner are moving, or about to. */
export function isMoving({ locks }: Parts, owner: Owner): boolean {
  const everybody = locks.holding(EVERYBODY)
  if (owner === undefined) return everybody !== undefined
  return everybody === 'alone' || locks.holding(`move:${ownerKey(owner)}`) !== undefined
}

const EVERYBODY = `move:${ownerKey(undefined)}`
