import { A2mError } from '../../protocol/errors.js'
import { EXTENSION } from '../../protocol/extension.js'
import type { Where } from '../../protocol/matches.js'
import type { Context } from '../../protocol/memory.js'
import type { ParamsOf, ResultOf } from '../../protocol/methods.js'
import type { FederationReport } from '../../protocol/reports.js'
import { ownerOf } from '../../protocol/scope.js'
import { identityOf } from '../../upstreams/translate.js'
import { keysWanted } from '../keys.js'
import type { Source } from '../layout.js'
import {
  batches,
  type Found,
  type Located,
  listAll,
  locate,
  refuseAmbiguity,
  refuseSilence,
  shownIds,
  writableAmong,
} from '../locate.js'
import type { Handler, Parts } from '../parts.js'
import { tierNamed } from '../plan.js'
import { recall } from '../reading/recall.js'
import { type Erased, Forgetting } from './forgetting.js'
import { erase, journalled, unstoppable } from './writing.js'

type Params = ParamsOf<'memory/forget'>
type Result = ResultOf<'memory/forget'>

/** A selection that an upstream's maximum cut short is taken in turns, so many at the most. */
const MOST_TURNS = 10_000

/**
 * Deletes what passes all selectors. The records are found first and then deleted by id, so that each counts once and no
 * upstream has to understand a selector; what only read-only upstreams hold stays, and they are named.
 */
export const forget: Handler<Params, Result> = async (parts, params, context) => {
  if (params.tier) tierNamed(parts.layout(), params.tier)
  const kept = new Map<string, number>()
  const forgetting = new Forgetting(parts.chronicle)
  let forgotten = 0
  try {
    for (let turn = 0; turn < MOST_TURNS; turn++) {
      const { located, silent, clipped } = await select(parts, params, context)
      refuseWritableSilence(parts, silent, forgotten)
      for (const [name, count] of readOnlyHolders(located)) kept.set(name, count)
      const mine = located.filter(({ source }) => source.writable)
      const erasing = { located: mine, before: forgotten }
      const gone = await forgetting.turn(mine, () => eraseAll(parts, erasing, unstoppable(context)))
      forgotten += gone
      if (gone === 0 || !clipped.some((source) => source.writable)) break
    }
  } finally {
    forgetting.end()
  }
  return kept.size === 0 ? { forgotten } : { forgotten, federation: keptReport(kept) }
}

interface Selected extends Found {
  readonly clipped: readonly Source[]
}

async function select(parts: Parts, params: Params, context: Context): Promise<Selected> {
  const owner = ownerOf(params)
  const ids = params.ids?.length ? params.ids : undefined
  if (params.query?.trim()) return selectByQuery(parts, params, context)
  const keys = keysWanted(parts, params.key_prefix)
  const narrowed = params.tier || keys || Object.keys(params.where ?? {}).length > 0
  if (ids !== undefined && !narrowed) return selectByIds(parts, { ids, owner }, context)
  const wanted = { tier: params.tier || undefined, where: params.where, owner, keys }
  if (ids === undefined) return listAll(parts, wanted, context)
  const named = await selectByIds(parts, { ids, owner }, context)
  const passing = await listAll(parts, { ...wanted, where: withIds(params.where, named) }, context)
  return { ...passing, silent: [...named.silent, ...passing.silent] }
}

async function selectByIds(
  parts: Parts,
  wanted: Parameters<typeof locate>[1],
  context: Context,
): Promise<Selected> {
  const found = await locate(parts, wanted, context)
  refuseAmbiguity(found.located, wanted.ids)
  return { ...found, clipped: [] }
}

/** Exactly what recall with the same selectors and the default limit returns. */
async function selectByQuery(parts: Parts, params: Params, context: Context): Promise<Selected> {
  const { ids, ...selectors } = params
  const extension = { ...params[EXTENSION], quiet: true }
  const asked = { ...selectors, partial: false, [EXTENSION]: extension }
  const { records } = await recall(recalling(parts, params.tier), asked, context)
  const wanted = records.map(({ id }) => id).filter((id) => !ids?.length || ids.includes(id))
  if (wanted.length === 0) return { located: [], silent: [], clipped: [] }
  const found = await locate(parts, { ids: wanted, owner: ownerOf(params) }, context)
  const recalled = new Set(records.map(identityOf))
  const located = found.located.filter(({ record, source, hereId }) => {
    const qualified = { ...record, id: source.translation.qualifiedId(hereId) }
    return recalled.has(identityOf(record)) || recalled.has(identityOf(qualified))
  })
  return { ...found, located, clipped: [] }
}

/** What recall would find for the caller; where its roles let it recall nothing there, what they let it forget. */
function recalling(parts: Parts, tier: string | undefined): Parts {
  const other = parts.as('memory/recall')
  const there = other.layout().tiers.some(({ name }) => !tier || name === tier)
  return there ? other : parts
}

/** An id in `where` stays a test of its own: both must hold. */
function withIds(where: Where | undefined, { located }: Found): Where {
  const named = located.map(({ record }) => record.id)
  if (where === undefined || !Object.hasOwn(where, 'id')) return { ...where, id: named }
  const tested = Array.isArray(where['id']) ? where['id'] : [where['id']]
  return { ...where, id: named.filter((id) => tested.includes(id)) }
}

function refuseWritableSilence(parts: Parts, silent: readonly string[], forgotten: number): void {
  const writable = writableAmong(parts, silent)
  if (writable.length > 0 && forgotten > 0) throw unconfirmed(writable, forgotten)
  refuseSilence(writable)
}

function unconfirmed(upstreams: readonly string[], forgotten: number): A2mError {
  const message = `${upstreams.join(', ')} did not confirm; ${forgotten} are gone for certain`
  return new A2mError('INTERNAL_ERROR', message, { forgotten, upstreams, outcome: 'unknown' })
}

interface Erasing {
  readonly located: readonly Located[]
  /** How many the call has deleted before these. */
  readonly before: number
}

/** Deletes at each holder, journalled moves being told first. */
async function eraseAll(
  parts: Parts,
  { located, before }: Erasing,
  context: Context,
): Promise<Erased> {
  const parted = batches(located)
  for (const { owner, records } of parted) {
    const ids = records.map(({ record }) => record.id)
    journalled('not_sent', () => parts.journal.markForgotten(owner, ids))
  }
  parts.step('forgetting')
  const ends = await Promise.all(
    parted.map(async ({ source, owner, records }) => {
      const ids = records.map(({ hereId }) => hereId)
      return { source, records, ...(await erase(parts, source, { ids, owner }, context)) }
    }),
  )
  parts.step('forgotten')
  const erased = ends.flatMap((end) => (end.gone > 0 ? end.records : []))
  if (erased.length > 0) context.touched?.('forgotten', shownIds(erased))
  const twice = located.length - new Set(located.map(({ record }) => identityOf(record))).size
  const gone = Math.max(0, ends.reduce((sum, end) => sum + end.gone, 0) - twice)
  const failed = ends.filter((end) => end.failed !== undefined).map(({ source }) => source.name)
  if (failed.length > 0) throw unconfirmed(failed, before + gone)
  return { gone, records: erased }
}

function readOnlyHolders(located: readonly Located[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { source } of located) {
    if (!source.writable) counts.set(source.name, (counts.get(source.name) ?? 0) + 1)
  }
  return counts
}

function keptReport(kept: ReadonlyMap<string, number>): FederationReport {
  const reason = 'read-only: what it holds stays'
  const reports = [...kept].map(
    ([name, count]) => [name, { state: 'skipped', ms: 0, count, reason }] as const,
  )
  return { partial: false, upstreams: Object.fromEntries(reports) }
}
