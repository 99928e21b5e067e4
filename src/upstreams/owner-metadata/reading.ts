import type { Where } from '../../protocol/matches.js'
import type { Context } from '../../protocol/memory.js'
import type { ParamsOf, ResultOf } from '../../protocol/methods.js'
import type { MemoryRecord } from '../../protocol/records.js'
import type { FederationReport } from '../../protocol/reports.js'
import { type Owned, type Owner, ownerOf } from '../../protocol/scope.js'
import { type Gathered, gather } from './gather.js'
import type { MixedMemory } from './mixed-memory.js'

/** Records that a recall gives unless told. */
const RECALLED = 8

/** Whose records a call is about, by its params or by the context of the ask; undefined is everybody's. */
export function whose(
  params: Owned & { readonly where?: Where | undefined },
  context: Context,
): Owner {
  const named = ownerOf(params)
  const owner = named === undefined ? context.owner : named
  if (owner !== undefined || !Object.hasOwn(params.where ?? {}, 'owner')) return owner
  const tested = params.where?.['owner']
  return typeof tested === 'string' ? tested : undefined
}

/** What was read, and what the upstream reported beside it. */
export interface Read<R extends MemoryRecord> {
  readonly gathered: readonly Gathered<R>[]
  readonly federation: FederationReport | undefined
}

type Recalled = ResultOf<'memory/recall'>['records'][number]

export async function readByRelevance(
  mixed: MixedMemory,
  params: ParamsOf<'memory/recall'>,
  context: Context,
): Promise<Read<Recalled>> {
  const { query, tier, min_score, embedding, embeddings, limit = RECALLED } = params
  const told = { query, tier, min_score, embedding, embeddings }
  let federation: FederationReport | undefined
  const gathered = await gather(
    mixed,
    {
      ...selection(params, context),
      method: 'memory/recall',
      limit,
      cut: 'first',
      wanted: query?.trim() || embedding !== undefined ? 'best' : 'all',
      ask: async (there) => {
        const result = await mixed.inner.call('memory/recall', { ...told, ...there }, context)
        federation = result.federation
        return result.records
      },
    },
    context,
  )
  return { gathered, federation }
}

export async function readInOrder(
  mixed: MixedMemory,
  params: ParamsOf<'memory/timeline'>,
  context: Context,
): Promise<Read<MemoryRecord>> {
  const { tier, embeddings, limit = 0 } = params
  let federation: FederationReport | undefined
  const gathered = await gather(
    mixed,
    {
      ...selection(params, context),
      method: 'memory/timeline',
      limit,
      cut: 'last',
      wanted: 'all',
      ask: async (there) => {
        const asked = { tier, embeddings, ...there }
        const result = await mixed.inner.call('memory/timeline', asked, context)
        federation = result.federation
        return result.records
      },
    },
    context,
  )
  return { gathered, federation }
}

function selection(params: ParamsOf<'memory/timeline'>, context: Context) {
  const { where, key_prefix } = params
  return { owner: whose(params, context), where, keyPrefix: key_prefix || undefined }
}

/** What was read, as a result of recall or timeline. */
export function resultOf<R extends MemoryRecord>({
  gathered,
  federation,
}: Read<R>): {
  records: R[]
  federation?: FederationReport
} {
  const records = gathered.map(({ record }) => record)
  return federation === undefined ? { records } : { records, federation }
}
