import { Fault } from '../../protocol/errors.js'
import type { Context } from '../../protocol/memory.js'
import type { ParamsOf } from '../../protocol/methods.js'
import type { MemoryRecord } from '../../protocol/records.js'
import type { Owner } from '../../protocol/scope.js'
import { isEarlier } from './admission.js'
import { gather } from './gather.js'
import type { MixedMemory } from './mixed-memory.js'
import { isQualified } from './names.js'

/** Ids in one ask: what every store should bear in one filter. */
const IDS_PER_ASK = 500

/**
 * The ids at the upstream of those of the records that are the owner's by what is read there. A delete or a move by them can reach
 * nobody else's, whatever the upstream makes of a call.
 */
export async function provenIds(
  mixed: MixedMemory,
  { ids, owner }: { readonly ids: readonly string[]; readonly owner: Owner },
  context: Context,
): Promise<readonly string[]> {
  const most = (await mixed.most(context)) ?? IDS_PER_ASK
  const size = Math.min(most, IDS_PER_ASK)
  const found: string[] = []
  for (let start = 0; start < ids.length; start += size) {
    const some = ids.slice(start, start + size)
    found.push(...(await provenAmong(mixed, { ids: some, owner }, context)))
  }
  return found
}

async function provenAmong(
  mixed: MixedMemory,
  { ids, owner }: { readonly ids: readonly string[]; readonly owner: Owner },
  context: Context,
): Promise<readonly string[]> {
  const method = await mixed.lookUpBy(context)
  const limit = owner === undefined ? 0 : ids.length
  const question = { method, owner, where: { id: ids }, limit, cut: 'last', wanted: 'all' } as const
  const ask = readingBy(mixed, method, context)
  const gathered = await gather(mixed, { ...question, ask }, context)
  const proven = gathered.map(({ raw }) => raw.id)
  if (owner !== null) return proven
  const there = new Set(gathered.map(({ record }) => record.id))
  const missing = ids.filter((id) => !there.has(id) && !isQualified(id))
  return [...proven, ...(await earlierAmong(mixed, missing, context))]
}

/** Records that were there before are called as they are; only who may see everybody's has heard of them. */
async function earlierAmong(
  mixed: MixedMemory,
  ids: readonly string[],
  context: Context,
): Promise<string[]> {
  if (ids.length === 0) return []
  const records = await rawById(mixed, ids, context)
  const wanted = new Set(ids)
  return records.filter((raw) => wanted.has(raw.id) && isEarlier(raw)).map(({ id }) => id)
}

/** Records as the upstream has them, by what it calls them; others may be among them. */
export async function rawById(
  mixed: MixedMemory,
  ids: readonly string[],
  context: Context,
): Promise<readonly MemoryRecord[]> {
  const method = await mixed.lookUpBy(context)
  const limit = mixed.isDeaf(method) ? ((await mixed.most(context)) ?? 0) : ids.length
  return readingBy(mixed, method, context)({ where: { id: [...ids] }, limit })
}

function readingBy(
  { inner }: MixedMemory,
  method: 'memory/recall' | 'memory/timeline',
  context: Context,
) {
  return async (sent: ParamsOf<'memory/timeline'>): Promise<readonly MemoryRecord[]> =>
    (await inner.call(method, sent, context)).records
}

/** What was read in preparation of a write that is not sent then: nothing has been done. */
export async function beforehand<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading
  } catch (thrown) {
    if (thrown instanceof Fault) throw new Fault(thrown.kind, thrown.message, 'not_sent')
    throw thrown
  }
}
