import { A2mError } from '../protocol/errors.js'
import type { Carried } from '../protocol/extension.js'
import type { Context } from '../protocol/memory.js'
import type { Move } from '../state/journal.js'
import type { Outbound } from '../upstreams/translate.js'
import { grouped } from './grouping.js'
import type { Source } from './layout.js'
import { groupOf, holder, type Located, locateAt, refuseSilence } from './locate.js'
import type { Parts } from './parts.js'
import { recordLocks } from './record-locks.js'
import { lostField } from './verify.js'
import { erase, journalled, write, writeError } from './writing.js'

/** Records of one owner that go from one upstream to a tier of another. */
export interface Moving {
  readonly from: Source
  readonly to: Source
  readonly tier: string
  readonly owner: string | null
  readonly records: readonly Located[]
  /** What is added to their salience as they arrive. */
  readonly salience?: number | undefined
  /** What the move is a part of, where that is told as a whole when it ends. */
  readonly cause?: Move['cause']
}

/** Told of records that are where they belong, after each step. */
export type Moved = (records: readonly Located[]) => void

/** Records in one journalled step; a group is never cut, however large. More of them would hold up who reads there meanwhile. */
const RECORDS_PER_STEP = 100

/**
 * Moves records so that each is in one place at least at every instant: written at the target under the same id, read back, and
 * only then deleted at the source. The journal has the intent first, so that after a crash it is finished or undone.
 */
export async function moveRecords(
  parts: Parts,
  moving: Moving,
  moved: Moved,
  context: Context,
): Promise<void> {
  for (const records of steps(moving.records)) {
    const step = () => moveStep(parts, { ...moving, records }, context)
    moved(await parts.locks.run(recordLocks(records), context, step))
  }
}

/** Records are read anew and whole, since those that were chosen lack their vectors and may be gone by now. */
async function moveStep(parts: Parts, chosen: Moving, context: Context): Promise<Located[]> {
  const { from, to, tier, owner, salience, cause } = chosen
  const moving = { ...chosen, records: await readWhole(parts, chosen, context) }
  if (moving.records.length === 0) return []
  const id = parts.newId()
  const move: Move = { from: from.name, to: to.name, tier, owner, salience, cause }
  const ids = moving.records.map(({ record }) => record.id)
  journalled('not_sent', () => parts.journal.beginMove(id, move, ids))
  parts.step('begun')
  return carryOver(parts, id, moving, context)
}

async function readWhole(
  parts: Parts,
  { from, owner, records }: Moving,
  context: Context,
): Promise<Located[]> {
  const ids = records.map(({ record }) => record.id)
  const { located, silent } = await locateAt(parts, from, { ids, owner }, context)
  refuseSilence(silent)
  return located.filter(({ record }) => holder(record) === owner)
}

/** The steps of a move after its intent; each may be done again. Returns what arrived. */
async function carryOver(
  parts: Parts,
  id: string,
  moving: Moving,
  context: Context,
): Promise<Located[]> {
  if (moving.records.length > 0) await handOver(parts, id, moving, context)
  const forgotten = await dropForgotten(parts, id, moving, context)
  journalled('unknown', () => parts.journal.endMove(id, 'arrived'))
  parts.step('ended')
  return moving.records.filter(({ record }) => !forgotten.has(record.id))
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
  const { to, owner, records } = moving
  const items = records.map((found) => outbound(found, moving))
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

/** What a record counts for whose salience nobody has set. */
export const USUAL_SALIENCE = 1

/** All that is known of a record: as an entry what one can say, beside it what none can. */
function outbound({ record, at }: Located, { tier, salience }: Moving): Outbound {
  const { created_at: _, score: __, accessed_at, access_count, revision, ...rest } = record
  const raised =
    salience === undefined ? {} : { salience: (record.salience ?? USUAL_SALIENCE) + salience }
  const carried: Carried = {
    created_at: at,
    ...(accessed_at === undefined ? {} : { accessed_at }),
    ...(access_count === undefined ? {} : { access_count }),
    ...(revision === undefined ? {} : { revision }),
  }
  return { entry: { ...rest, ...raised, tier }, carried }
}

/** What was written must be there to be read before anything is deleted; otherwise the move is undone. */
async function verify(parts: Parts, id: string, moving: Moving, context: Context): Promise<void> {
  const { to, owner, records } = moving
  const ids = records.map(({ record }) => record.id)
  const { located } = await locateAt(parts, to, { ids, owner }, context)
  const there = new Map(located.map(({ record }) => [record.id, record]))
  const lost = records
    .map(({ record }) => lostField(record, there.get(record.id)))
    .find((field) => field !== undefined)
  if (lost === undefined) return
  const { failed } = await erase(parts, to, { ids, owner }, context)
  if (failed === undefined) parts.journal.endMove(id, 'undone')
  throw new A2mError(
    'INTERNAL_ERROR',
    `${to.name} did not keep what was moved to it (${lost}), so that it stays where it was`,
    { upstream: to.name, field: lost },
  )
}

/** A forget that came in between wins: what it named is deleted at the target too. */
async function dropForgotten(
  parts: Parts,
  id: string,
  { to, owner }: Moving,
  context: Context,
): Promise<ReadonlySet<string>> {
  const forgotten = parts.journal.forgottenOf(id)
  const { failed } = await erase(parts, to, { ids: [...forgotten], owner }, context)
  if (failed !== undefined) throw writeError(to, failed, {})
  return forgotten
}

function unfinished(from: Source, { to }: Moving): A2mError {
  return new A2mError(
    'INTERNAL_ERROR',
    `${from.name} did not confirm that moved records are gone there; the move is finished as soon as it answers`,
    { upstream: from.name, to: to.name },
  )
}

/** Cuts records into steps at the borders of groups. */
export function steps(records: readonly Located[]): Located[][] {
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
  const { owner, tier, salience, ids } = open
  const { located, silent } = await locateAt(parts, from, { ids, owner }, context)
  refuseSilence(silent)
  const moving = { from, to, tier, owner, records: located, salience }
  await parts.locks.run(recordLocks(located), context, async () => {
    const records = await readWhole(parts, moving, context)
    await carryOver(parts, open.id, { ...moving, records }, context)
  })
  return true
}
