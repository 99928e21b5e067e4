import { A2mError, invalidParams } from '../protocol/errors.js'
import type { Carried } from '../protocol/extension.js'
import type { Where } from '../protocol/matches.js'
import type { Context } from '../protocol/memory.js'
import type { MemoryRecord } from '../protocol/records.js'
import { type Owner, ownerKey } from '../protocol/scope.js'
import { identityOf } from '../upstreams/translate.js'
import { type Answer, ask, fanOut } from './fan-out.js'
import { grouped, portions } from './grouping.js'
import type { Source } from './layout.js'
import type { Parts } from './parts.js'
import { type Plan, planReading, refuseUnnamed, type Target, type Wanted } from './plan.js'
import { arrive } from './reading/reading.js'

/** A record and where it was found. */
export interface Located {
  readonly source: Source
  /** Its id at that upstream. */
  readonly hereId: string
  /** In the gateway's terms. */
  readonly record: MemoryRecord
  /** Its time as exactly as the upstream told it. */
  readonly at: string
  /** What of it stands in reserved metadata there. */
  readonly carried?: Carried | undefined
}

/** What was found, and the upstreams that may hold more and did not say. */
export interface Found {
  readonly located: readonly Located[]
  readonly silent: readonly string[]
}

/** Ids in one ask: what every store should bear in one filter. */
const IDS_PER_ASK = 500

/** Looks records up by id wherever they could live. */
export async function locate(
  parts: Parts,
  { ids, owner }: { readonly ids: readonly string[]; readonly owner: Owner },
  context: Context,
): Promise<Found> {
  const layout = parts.layout()
  const plan = planReading(layout, { where: { id: ids }, owner })
  refuseUnnamed(layout, plan)
  return lookUp(parts, plan, owner, context)
}

/** Reads records of one upstream by id, whole: their vectors come along. */
export function locateAt(
  parts: Parts,
  source: Source,
  { ids, owner }: { readonly ids: readonly string[]; readonly owner: Owner },
  context: Context,
): Promise<Found> {
  const where = source.translation.whereHere({ id: ids })
  if (where === undefined || ids.length === 0) return Promise.resolve(NOTHING)
  const target = { source, tiers: source.tiers, where, embeddings: true }
  const targets = [target]
  return lookUp(parts, { targets, skipped: new Map(), absent: new Map() }, owner, context)
}

const NOTHING: Found = { located: [], silent: [] }

async function lookUp(parts: Parts, plan: Plan, owner: Owner, context: Context): Promise<Found> {
  const asks = plan.targets.flatMap((target) =>
    idsIn(target).map((portion) => ({ target, portion })),
  )
  const answers = await Promise.all(
    asks.map(({ target, portion }) => {
      const { source } = target
      const params = lookup(target, portion, owner)
      return ask<'memory/recall' | 'memory/timeline'>(
        testsWhere(source) ? 'memory/timeline' : 'memory/recall',
        { source, params, owner },
        context,
        parts.clock,
      )
    }),
  )
  const located = answers.flatMap((answer, index) => {
    const target = asks[index]?.target
    return target === undefined ? [] : locatedIn(parts, answer, target, owner)
  })
  const silent = answers
    .filter(({ result }) => result === undefined)
    .map(({ source }) => source.name)
  return { located, silent: [...new Set([...silent, ...plan.absent.keys()])] }
}

/**
 * A timeline is no use of records and tells their order, down to those of one instant; but only stores with sessions have to test
 * `where` there (§3.5). Every one tests it on recall (§5.2).
 */
function testsWhere({ profile: { extended, capabilities } }: Source): boolean {
  return extended || capabilities.has('sessions')
}

function idsIn({ source, where }: Target): string[][] {
  const ids = Array.isArray(where['id']) ? where['id'].filter((id) => typeof id === 'string') : []
  const size = Math.min(IDS_PER_ASK, source.profile.limits.max_recall_limit ?? IDS_PER_ASK)
  return portions(ids, size)
}

/** For one owner an id is one record at the most; for all of them together there is no such bound. */
function lookup({ source, tiers, embeddings }: Target, ids: readonly string[], owner: Owner) {
  const where: Where = { id: ids }
  const limit = owner === undefined ? 0 : ids.length
  const selection = { tiers, owner, where, limit, embeddings, quiet: true }
  return source.translation.reading(selection, where)
}

interface Listing extends Wanted {
  /** How records stand is all that is wanted of them; there may be very many. Their contents and metadata may be missing then. */
  readonly outline?: boolean | undefined
}

/** Lists everything in a tier, or that passes a `where`, of everybody that could have some of it. */
export async function listAll(
  parts: Parts,
  wanted: Listing,
  context: Context,
): Promise<Found & { readonly clipped: readonly Source[] }> {
  const { owner, outline } = wanted
  const layout = parts.layout()
  const plan = planReading(layout, wanted)
  refuseUnnamed(layout, plan)
  const asks = plan.targets.map(({ source, tiers, where, embeddings, keyPrefix }) => ({
    source,
    owner,
    params: source.translation.reading(
      { tiers, owner, where, limit: 0, embeddings, keyPrefix, outline },
      where,
    ),
  }))
  const answers = await fanOut('memory/timeline', asks, context, parts.clock)
  const located = answers.flatMap((answer, index) => {
    const target = plan.targets[index]
    return target === undefined ? [] : locatedIn(parts, answer, target, owner)
  })
  const silent = answers
    .filter(({ result }) => result === undefined)
    .map(({ source }) => source.name)
  const clipped = answers.filter(isClipped).map(({ source }) => source)
  return { located, silent: [...silent, ...plan.absent.keys()], clipped }
}

/** An answer as long as the upstream's maximum may not be all there is. */
export function isClipped({ source, result }: Answer<'memory/timeline'>): boolean {
  const most = source.profile.limits.max_recall_limit
  return most !== undefined && result !== undefined && result.records.length >= most
}

function locatedIn(
  parts: Parts,
  { result }: Answer<'memory/recall' | 'memory/timeline'>,
  target: Target,
  owner: Owner,
): Located[] {
  const { source } = target
  return arrive(parts, result?.records ?? [], target, owner).arrived.map((arrived) => ({
    source,
    hereId: source.translation.idHere(arrived.record.id) ?? arrived.record.id,
    ...arrived,
  }))
}

/** A write that must know every place cannot go on while one of them is silent. */
export function refuseSilence(silent: readonly string[]): void {
  if (silent.length === 0) return
  throw new A2mError(
    'INTERNAL_ERROR',
    `nothing was done, since ${silent.join(', ')} did not answer`,
    {
      outcome: 'not_sent',
      upstreams: silent,
    },
  )
}

/** Nor can one that must know every record, where an upstream that may be written to does not show all. `what` is for people. */
export function refuseClipped(
  clipped: readonly Source[],
  what: string,
  data: Readonly<Record<string, unknown>>,
): void {
  const short = clipped.find((source) => source.writable)
  if (short === undefined) return
  const message = `${what} cannot be read whole: ${short.name} lets fewer records be read than it holds`
  throw new A2mError('INTERNAL_ERROR', message, { ...data, upstream: short.name })
}

/** Of upstreams that are silent, those that are written to: what a read-only one holds could not be changed anyway. */
export function writableAmong(parts: Parts, silent: readonly string[]): string[] {
  const readOnly = parts.layout().sources.filter((source) => !source.writable)
  return silent.filter((name) => readOnly.every((source) => source.name !== name))
}

/** Names a record at one upstream. */
export function placeOf({ source, record }: Located): string {
  return `${source.name}:${identityOf(record)}`
}

/** Each once, as callers know them. */
export function shownIds(records: readonly Located[]): string[] {
  return [...new Set(records.map(({ record }) => record.id))]
}

/** The owner of a record, null where it has none. */
export function holder(record: MemoryRecord): string | null {
  return record.owner ?? null
}

/** Names a group, which is one owner's; a record without one is a group of its own. */
export function groupOf(record: MemoryRecord): string {
  const owner = ownerKey(holder(record))
  return record.group === undefined ? `${owner}id:${record.id}` : `${owner}group:${record.group}`
}

/** Records of one owner at one upstream. */
export interface Batch {
  readonly source: Source
  readonly owner: string | null
  readonly records: Located[]
}

/** Names the batch that a record is of: an upstream is told one owner at a time. */
export function batchOf({ source, record }: Located): string {
  return ownerKey(holder(record)) + source.name
}

/** Parts what was found by upstream and owner. */
export function batches(located: readonly Located[]): Batch[] {
  return [...grouped(located, batchOf).values()].flatMap((records) => {
    const [first] = records
    return first === undefined
      ? []
      : [{ source: first.source, owner: holder(first.record), records }]
  })
}

/** A bare id that stands for different records of one owner is refused: qualified, it is clear. */
export function refuseAmbiguity(located: readonly Located[], ids: readonly string[]): void {
  const named = new Set(ids)
  const contents = new Map<string, Located>()
  for (const found of located) {
    const other = contents.get(identityOf(found.record))
    contents.set(identityOf(found.record), found)
    if (other === undefined || other.record.content === found.record.content) continue
    const choices = [other, found].map(({ source, hereId }) =>
      source.translation.qualifiedId(hereId),
    )
    if (named.has(found.record.id)) {
      throw invalidParams(
        `ids: "${found.record.id}" is ambiguous; say one of ${choices.join(', ')}`,
      )
    }
  }
}
