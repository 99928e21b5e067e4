import { MOST_SUMMARIZED } from '../protocol/contract.js'
import { EXTENSION } from '../protocol/extension.js'
import type { Where } from '../protocol/matches.js'
import type { Context, Memory } from '../protocol/memory.js'
import type { ParamsOf } from '../protocol/methods.js'
import type { MemoryRecord } from '../protocol/records.js'
import { byInstant } from './by-instant.js'

type Params = ParamsOf<'memory/summarize'>

/** Records that are read where the caller names no limit and no more ids. */
const DEFAULT_LIMIT = 200

/**
 * Reads what the selectors name, all of them together: with a query the most relevant first, without one the newest, oldest
 * first. A gap is an error, since a summary of half would pass for one of the whole; and reading is no use of the records.
 */
export async function select(
  inner: Memory,
  params: Params,
  context: Context,
): Promise<readonly MemoryRecord[]> {
  const where = whereOf(params)
  if (where === undefined) return []
  const { tier, key_prefix, owner } = params
  const query = params.query?.trim() ?? ''
  const reading = {
    ...(tier ? { tier } : {}),
    ...(key_prefix ? { key_prefix } : {}),
    ...(Object.keys(where).length > 0 ? { where } : {}),
    limit: limitOf(params),
    owner,
    partial: false,
    [EXTENSION]: { ...params[EXTENSION], quiet: true },
  }
  if (query === '') return inBatches(inner, reading, context)
  return (await inner.call('memory/recall', { ...reading, query }, context)).records
}

/** Ids that are looked for at once: what it costs to test records by a list grows with both. */
const BATCH = 500

async function inBatches(
  inner: Memory,
  reading: ParamsOf<'memory/timeline'> & { readonly limit: number },
  context: Context,
): Promise<readonly MemoryRecord[]> {
  const ids = reading.where?.['id']
  if (!Array.isArray(ids) || ids.length <= BATCH) {
    return (await inner.call('memory/timeline', reading, context)).records
  }
  const found: MemoryRecord[] = []
  for (let at = 0; at < ids.length; at += BATCH) {
    const where = { ...reading.where, id: ids.slice(at, at + BATCH) }
    const { records } = await inner.call('memory/timeline', { ...reading, where }, context)
    found.push(...records)
  }
  return byInstant(found).slice(-reading.limit)
}

/** Ids become a test like any other; undefined where no record can pass. */
function whereOf({ ids = [], where = {} }: Params): Where | undefined {
  if (ids.length === 0) return where
  const { id } = where
  const wanted = new Set(Array.isArray(id) ? id : [id])
  const both = id === undefined ? ids : ids.filter((one) => wanted.has(one))
  return both.length === 0 ? undefined : { ...where, id: [...new Set(both)] }
}

function limitOf({ limit, ids = [] }: Params): number {
  return limit === undefined ? Math.max(DEFAULT_LIMIT, ids.length) : limit || MOST_SUMMARIZED
}
