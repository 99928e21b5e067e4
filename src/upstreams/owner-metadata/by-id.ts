import { copyWith } from '../../protocol/copy.js'
import type { Context } from '../../protocol/memory.js'
import type { ParamsOf, ResultOf } from '../../protocol/methods.js'
import { beforehand, provenIds } from './looking.js'
import type { MixedMemory } from './mixed-memory.js'
import { readByRelevance, readInOrder, whose } from './reading.js'

type Forget = ParamsOf<'memory/forget'>

/** Deletes what passes all selectors: found and proven by reading, then deleted by id. */
export async function forget(
  mixed: MixedMemory,
  params: Forget,
  context: Context,
): Promise<ResultOf<'memory/forget'>> {
  const ids = await beforehand(provenOf(mixed, params, context))
  if (ids.length === 0) return { forgotten: 0 }
  const { forgotten } = await mixed.inner.call('memory/forget', { ids: [...ids] }, context)
  return { forgotten: Math.min(forgotten, ids.length) }
}

async function provenOf(
  mixed: MixedMemory,
  params: Forget,
  context: Context,
): Promise<readonly string[]> {
  const { ids, query, tier, where, key_prefix } = params
  const owner = whose(params, context)
  const named = ids?.length ? new Set(ids) : undefined
  const narrowed = tier || key_prefix || Object.keys(where ?? {}).length > 0
  if (!query?.trim() && !narrowed) {
    return named === undefined ? [] : provenIds(mixed, { ids: [...named], owner }, context)
  }
  const selected = { tier, where, key_prefix }
  const asked = copyWith(context, { owner })
  const { gathered } = query?.trim()
    ? await readByRelevance(mixed, { ...selected, query }, asked)
    : await readInOrder(mixed, selected, asked)
  const chosen = gathered.filter(({ record }) => named?.has(record.id) ?? true)
  return chosen.map(({ raw }) => raw.id)
}

/** Moves an owner's records, and no others, to another tier. */
export async function promote(
  mixed: MixedMemory,
  { ids, tier, salience, ...params }: ParamsOf<'memory/promote'>,
  context: Context,
): Promise<ResultOf<'memory/promote'>> {
  const owner = whose(params, context)
  const proven = await beforehand(provenIds(mixed, { ids, owner }, context))
  if (proven.length === 0) return { promoted: 0 }
  const told = { ids: [...proven], tier, ...(salience === undefined ? {} : { salience }) }
  return mixed.inner.call('memory/promote', told, context)
}

/** Raises the salience of an owner's records, and of no others. */
export async function reinforce(
  mixed: MixedMemory,
  { ids, amount, ...params }: ParamsOf<'memory/reinforce'>,
  context: Context,
): Promise<ResultOf<'memory/reinforce'>> {
  const owner = whose(params, context)
  const proven = await beforehand(provenIds(mixed, { ids, owner }, context))
  if (proven.length === 0) return { reinforced: 0 }
  const told = { ids: [...proven], ...(amount === undefined ? {} : { amount }) }
  return mixed.inner.call('memory/reinforce', told, context)
}
