import { invalidParams } from '../protocol/errors.js'
import { EXTENSION } from '../protocol/extension.js'
import type { ParamsOf, ResultOf } from '../protocol/methods.js'
import { type Owner, ownerKey } from '../protocol/scope.js'
import { locate, refuseAmbiguity, refuseSilence } from './locate.js'
import type { LockKey } from './locks.js'
import type { Handler } from './parts.js'
import { tierNamed } from './plan.js'
import { relocate } from './relocate.js'
import { unstoppable } from './writing.js'

type Params = ParamsOf<'memory/promote'>

/** Moves records to another tier, wherever it lives (§4.6). Ids that do not exist are not counted. */
export const promote: Handler<Params, ResultOf<'memory/promote'>> = (parts, params, context) => {
  const owner = params[EXTENSION]?.owner
  const tier = tierNamed(parts.layout(), params.tier)
  if (tier.home === undefined) {
    throw invalidParams(`tier: nothing can be moved to "${tier.name}": ${tier.homeless}`)
  }
  return parts.locks.run(moveKeys(owner), context, async () => {
    const { ids } = params
    const { located, silent } = await locate(parts, { ids, owner }, context)
    refuseSilence(silent)
    refuseAmbiguity(located, ids)
    return { promoted: await relocate(parts, { located, tier, owner }, unstoppable(context)) }
  })
}

/** Moves of one owner's records follow one another, and those of everybody's go alone. */
export function moveKeys(owner: Owner): LockKey[] {
  const own = `move:${ownerKey(owner)}`
  return owner === undefined ? [own] : [own, { shared: EVERYBODY }]
}

/** Held by what must not overlap with a move of the owner's records and is none itself. */
export function unmovedKeys(owner: Owner): LockKey[] {
  return [{ shared: `move:${ownerKey(owner)}` }, { shared: EVERYBODY }]
}

const EVERYBODY = `move:${ownerKey(undefined)}`
