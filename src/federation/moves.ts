import { A2mError } from '../protocol/errors.js'
import type { Context } from '../protocol/memory.js'
import type { Move } from '../state/journal.js'
import type { Outbound } from '../upstreams/translate.js'
import { grouped } from './grouping.js'
import type { Source } from './layout.js'
import { groupOf, holder, type Located, locate, refuseSilence } from './locate.js'
import type { Parts } from './parts.js'
import { erase, journalled, write, writeError } from './writing.js'

/** Records of one owner that go from one upstream to a tier of another. */
export interface Moving {
  readonly from: Source
  readonly to: Source
  readonly tier: string
  readonly owner: string | null
  readonly records: readonly Located[]
  /** What the move is a part of, where that is told as a whole when it ends. */
  readonly cause?: Move['cause']
}

/** Records in one journalled step; a group is never cut, however large. */
const RECORDS_PER_STEP = 100

/**
 * Moves records so that each is in one place at least at every instant: written at the target under the same id, read back, and
 * only then deleted at the source. The journal has the intent first, so that after a crash it is finished or undone.
 */
export async function moveRecords(parts: Parts, moving: Moving, context: Context): Promise<number> {
  let moved = 0
  for (const records of steps(moving.records)) {
    moved += await moveStep(parts, { ...moving, records }, context)
  }
  return moved
}

async function moveStep(parts: Parts, moving: Moving, context: Context): Promise<number> {
  const { from, to, tier, owner, records, cause } = moving
  const id = parts.newId()
  const move: Move = { from: from.name, to: to.name, tier, owner, cause }
  const ids = records.map(({ record }) => record.id)
  journalled('not_sent', () => parts.journal.beginMove(id, move, ids))
  parts.step('begun')
  return carryOver(parts, id, moving, context)
}

/** The steps of a move after its intent; each may be done again. Returns how many records arrived. */
async function carryOver(
  parts: Parts,
  id: string,
  moving: Moving,
  context: Context,
): Promise<number> {
  if (moving.records.length > 0) await handOver(parts, id, moving, context)
  const forgotten = await dropForgotten(parts, id, moving, context)
  journalled('unknown', () => parts.journal.endMove(id, 'arrived'))
  parts.step('ended')
  return moving.records.length - forgotten
}

async function handOver(parts: Parts, id: string, moving: Moving, context: Context): Promise<void> {
  const { from, owner, records } = moving
  await copy(parts, id, moving, context)
  parts.step('copied')
  await verify(parts, id, moving, context)
  parts.step('verified')
  const ids = records.map(({ hereId }) => hereId)
  const { failed } = await erase(parts, from, { ids, owner }, context)
  if (failed !== undefined) throw unfinished(from, moving)
  parts.step('deleted')
}

async function copy(parts: Parts, id: string, moving: Moving, context: Context): Promise<void> {
  const { to, tier, owner, records } = moving
  const items = records.map((found) => outbound(found, tier))
  if (!to.profile.extended) {
    parts.carried.add(
      to.name,
      owner ?? '',
      items.map(({ entry }) => entry.id),
    )
  }
  const written = await write(parts, to, items, context)
  if (written.state === 'done') return
  if (written.outcome !== 'unknown') {
    parts.carried.remove(
      to.name,
      owner ?? '',
      items.map(({ entry }) => entry.id),
    )
    parts.journal.endMove(id, 'undone')
  }
  throw writeError(to, written, {})
}

function outbound({ record, at }: Located, tier: string): Outbound {
  const {
    created_at: _,
    score: __,
    accessed_at: ___,
    access_count: ____,
    revision: _____,
    ...rest
  } = record
  return { entry: { ...rest, tier }, carried: { created_at: at } }
}

/** What was written must be there to be read before anything is deleted; otherwise the move is undone. */
async function verify(parts: Parts, id: string, moving: Moving, context: Context): Promise<void> {
  const { to, owner, records } = moving
  const ids = records.map(({ record }) => record.id)
  const { located } = await locate(parts, { ids, owner }, context)
  const there = new Map(
    located
      .filter(({ source }) => source.name === to.name)
      .map(({ record }) => [record.id, record]),
  )
  const arrived = records.every(({ record }) => there.get(record.id)?.content === record.content)
  if (arrived) return
  const { failed } = await erase(parts, to, { ids, owner }, context)
  if (failed === undefined) parts.journal.endMove(id, 'undone')
  throw new A2mError('INTERNAL_ERROR', `${to.name} did not keep what was moved to it`, {
    upstream: to.name,
  })
}

/** A forget that came in between wins: what it named is deleted at the target too. */
async function dropForgotten(
  parts: Parts,
  id: string,
  { to, owner }: Moving,
  context: Context,
): Promise<number> {
  const forgotten = [...parts.journal.forgottenOf(id)]
  const { failed } = await erase(parts, to, { ids: forgotten, owner }, context)
  if (failed !== undefined) throw writeError(to, failed, {})
  return forgotten.length
}

function unfinished(from: Source, { to }: Moving): A2mError {
  return new A2mError(
    'INTERNAL_ERROR',
    `${from.name} did not confirm that moved records are gone there; the move is finished as soon as it answers`,
    { upstream: from.name, to: to.name },
  )
}

/** Cuts records into steps at the borders of groups. */
function steps(records: readonly Located[]): Located[][] {
  const batches: Located[][] = []
  for (const unit of grouped(records, ({ record }) => groupOf(record)).values()) {
    const last = batches.at(-1)
    if (last !== undefined && last.length + unit.length <= RECORDS_PER_STEP) last.push(...unit)
    else batches.push(unit)
  }
  return batches
}

/** Finishes one move that was under way when the gateway stopped. False where an upstream is not there to do it yet. */
export async function resumeMove(
  parts: Parts,
  open: Move & { readonly id: string; readonly ids: readonly string[] },
  context: Context,
): Promise<boolean> {
  const { sources } = parts.layout()
  const from = sources.find(({ name }) => name === open.from)
  const to = sources.find(({ name }) => name === open.to)
  if (from === undefined || to === undefined) return false
  const { owner, tier, ids } = open
  const { located, silent } = await locate(parts, { ids, owner }, context)
  refuseSilence(silent.filter((name) => name === open.from || name === open.to))
  const records = located.filter(
    ({ source, record }) => source.name === from.name && holder(record) === owner,
  )
  await carryOver(parts, open.id, { from, to, tier, owner, records }, context)
  return true
}
