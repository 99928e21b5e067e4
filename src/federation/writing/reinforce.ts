import { A2mError } from '../../protocol/errors.js'
import { EXTENSION } from '../../protocol/extension.js'
import type { Context } from '../../protocol/memory.js'
import type { ParamsOf, ResultOf } from '../../protocol/methods.js'
import { identityOf } from '../../upstreams/translate.js'
import { ask } from '../fan-out.js'
import {
  type Batch,
  batches,
  type Located,
  locate,
  placeOf,
  refuseAmbiguity,
  refuseSilence,
  writableAmong,
} from '../locate.js'
import type { Handler, Parts } from '../parts.js'
import { recordLocks } from '../record-locks.js'
import { isToldOfUse } from './use.js'
import { unstoppable } from './writing.js'

type Params = ParamsOf<'memory/reinforce'>

/**
 * Raises the salience of records wherever they live (§4.8), each once. Ids that do not exist are not counted, nor are records
 * that only read-only upstreams hold. From a gateway it may also be word of use, which is passed on to those who count it.
 */
export const reinforce: Handler<Params, ResultOf<'memory/reinforce'>> = async (
  parts,
  params,
  context,
) => {
  const before = await holdersOf(parts, params, context)
  return parts.locks.run(recordLocks(before), context, async () => {
    const holders = before.length === 0 ? before : await holdersOf(parts, params, context)
    return { reinforced: await raiseAll(parts, holders, params, unstoppable(context)) }
  })
}

/** Looked for again once nobody can move them: a record must not be raised at the place that it has just left. */
async function holdersOf(
  parts: Parts,
  { ids, [EXTENSION]: extension }: Params,
  context: Context,
): Promise<readonly Located[]> {
  const { located, silent } = await locate(parts, { ids, owner: extension?.owner }, context)
  refuseSilence(writableAmong(parts, silent))
  refuseAmbiguity(located, ids)
  return located.filter(({ source }) => (extension?.used ? isToldOfUse(source) : keeps(source)))
}

function keeps({ writable, profile }: Located['source']): boolean {
  return writable && profile.capabilities.has('salience')
}

/** All at once. Returns how many records were reached; one that is in two places is one. */
async function raiseAll(
  parts: Parts,
  holders: readonly Located[],
  params: Params,
  context: Context,
): Promise<number> {
  const once = [...new Map(holders.map((found) => [placeOf(found), found])).values()]
  const parted = batches(once)
  const ends = await Promise.all(parted.map((batch) => raise(parts, batch, params, context)))
  const failed = parted.filter((_, index) => ends[index] === undefined)
  const told = ends.reduce((sum: number, end) => sum + (end ?? 0), 0)
  const twice = once.length - new Set(once.map(({ record }) => identityOf(record))).size
  const reinforced = Math.max(0, told - twice)
  if (failed.length > 0) throw unconfirmed(failed, reinforced)
  return reinforced
}

/** Undefined where the upstream did not confirm. */
async function raise(
  parts: Parts,
  { source, owner, records }: Batch,
  { amount, [EXTENSION]: extension }: Params,
  context: Context,
): Promise<number | undefined> {
  const ids = records.map(({ hereId }) => hereId)
  const { translation } = source
  const params = extension?.used
    ? translation.using(ids, owner)
    : translation.reinforcing(ids, { amount, owner })
  const { result } = await ask('memory/reinforce', { source, params, owner }, context, parts.clock)
  return result === undefined ? undefined : Math.min(result.reinforced, ids.length)
}

function unconfirmed(failed: readonly Batch[], reinforced: number): A2mError {
  const upstreams = [...new Set(failed.map(({ source }) => source.name))]
  const message = `${upstreams.join(', ')} did not confirm; ${reinforced} were reinforced for certain`
  return new A2mError('INTERNAL_ERROR', message, { reinforced, upstreams, outcome: 'unknown' })
}
