import { invalidParams } from '../../protocol/errors.js'
import type { Context } from '../../protocol/memory.js'
import type { ParamsOf, ResultOf } from '../../protocol/methods.js'
import type { MemoryRecord } from '../../protocol/records.js'
import { admitting } from './admission.js'
import type { MixedMemory } from './mixed-memory.js'
import { Names } from './names.js'
import { readByRelevance, whose } from './reading.js'

type Params = ParamsOf<'memory/fetch'>
type Result = ResultOf<'memory/fetch'>

/** The record at a key of its owner's. Where no owner is named it is nobody's, or else the only one there is. */
export async function fetch(mixed: MixedMemory, params: Params, context: Context): Promise<Result> {
  const { key, embeddings } = params
  const owner = whose(params, context)
  if (owner === undefined) return fetchAnybodys(mixed, params, context)
  const asked = { key: new Names(owner).qualify(key), embeddings }
  const { record: raw } = await mixed.inner.call('memory/fetch', asked, context)
  if (raw === null) return { record: null }
  const record = admitting(owner)(raw)
  if (record?.key === key) return { record }
  mixed.blame('foreign_record', 1)
  return { record: null }
}

async function fetchAnybodys(
  mixed: MixedMemory,
  { key, embeddings }: Params,
  context: Context,
): Promise<Result> {
  const asked = { where: { key }, limit: 0, embeddings }
  const { gathered } = await readByRelevance(mixed, asked, context)
  const nobodys = gathered.find(({ record }) => record.owner === undefined)
  if (nobodys === undefined && gathered.length > 1) {
    throw invalidParams('owner: several have that key; name one')
  }
  const found = (nobodys ?? gathered[0])?.record
  return { record: found === undefined ? null : withoutScore(found) }
}

function withoutScore({ score: _, ...record }: MemoryRecord): MemoryRecord {
  return record
}
