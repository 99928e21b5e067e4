import { A2mError, toA2mError } from '../../protocol/errors.js'
import type { Context } from '../../protocol/memory.js'
import { addressOf, findKeys } from '../keys.js'
import type { TierLayout } from '../layout.js'
import { refuseSilence } from '../locate.js'
import type { Parts } from '../parts.js'
import { tierNamed } from '../plan.js'
import type { Slot } from '../writing/placing.js'
import { moveKeys } from './promote.js'
import { relocate } from './relocate.js'

/** A record that was brought to another tier for a write, and where it was before. */
export interface Brought {
  readonly slot: Slot
  readonly from: string
}

/**
 * Brings records to the tiers that are named for their keys, before they are rewritten there: a move has a journal of its own, and
 * where it cannot be done nothing has been written yet. `brought` is told of each as it arrives.
 */
export async function bring(
  parts: Parts,
  slots: readonly Slot[],
  brought: Brought[],
  context: Context,
): Promise<void> {
  for (const slot of slots) {
    const { goesTo, tier: from } = slot
    if (goesTo === undefined) continue
    if (await bringOne(parts, slot, goesTo, context)) brought.push({ slot, from })
  }
}

async function bringOne(
  parts: Parts,
  { owner, key }: Slot,
  tier: TierLayout,
  context: Context,
): Promise<boolean> {
  return parts.locks.run(moveKeys(owner), context, async () => {
    const look = { embeddings: false, quiet: true }
    const { held, silent } = await findKeys(parts.whole, [{ owner, key }], look, context)
    const found = held.get(addressOf({ owner, key }))
    if (found === undefined) refuseSilence(silent)
    if (found === undefined || found.record.tier === tier.name) return false
    let moved = 0
    const going = { located: [found], tier, owner, stuck: 'refuse' } as const
    await relocate(parts, going, (records) => (moved += records.length), context)
    return moved > 0
  })
}

/**
 * The error of a write that failed after records had been brought to its tiers. They are sent back where nothing can have been
 * written; those that stay are named.
 */
export async function afterBringing(
  parts: Parts,
  brought: readonly Brought[],
  thrown: unknown,
  context: Context,
): Promise<unknown> {
  if (brought.length === 0) return thrown
  const error = toA2mError(thrown)
  const certain = error.data?.['outcome'] !== 'unknown'
  const moved: string[] = []
  for (const { slot, from } of brought.toReversed()) {
    const back = certain && (await sendBack(parts, slot, from, context))
    if (!back) moved.push(slot.id)
  }
  if (moved.length === 0) return thrown
  return new A2mError(error.code, error.message, { ...error.data, moved })
}

async function sendBack(
  parts: Parts,
  slot: Slot,
  from: string,
  context: Context,
): Promise<boolean> {
  try {
    return await bringOne(parts.whole, slot, tierNamed(parts.whole.layout(), from), context)
  } catch {
    return false
  }
}
