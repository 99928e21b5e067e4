import type { Context } from '../protocol/memory.js'
import type { Move } from '../state/journal.js'
import { carryOver } from './carry-over.js'
import { grouped } from './grouping.js'
import type { Source } from './layout.js'
import { groupOf, holder, type Located, locateAt, refuseSilence } from './locate.js'
import type { Parts } from './parts.js'
import { recordLocks } from './record-locks.js'
import { journalled } from './writing.js'

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
  /** All steps are in the journal before the first, so that after a crash all are finished. */
  readonly intent?: 'whole' | undefined
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
  const whole = moving.intent === 'whole'
  const todo = steps(moving.records).map((records): Step => ({ id: parts.newId(), records }))
  if (whole) beginAll(parts, moving, todo)
  for (const [index, step] of todo.entries()) {
    let untouched = index
    const begun = () => {
      untouched = index + 1
    }
    try {
      moved(await moveStep(parts, step, { moving, begun }, context))
    } catch (thrown) {
      if (whole) callOff(parts, todo.slice(untouched))
      throw thrown
    }
  }
}

interface Step {
  /** What the journal calls it. */
  readonly id: string
  readonly records: readonly Located[]
}

function beginAll(parts: Parts, moving: Moving, todo: readonly Step[]): void {
  const moves = todo.map(({ id, records }) => ({ id, move: moveOf(moving), ids: idsOf(records) }))
  journalled('not_sent', () => parts.journal.beginMoves(moves))
}

/** Nothing has been done for these. */
function callOff(parts: Parts, todo: readonly Step[]): void {
  for (const { id } of todo) parts.journal.endMove(id, 'undone')
}

function moveOf({ from, to, tier, owner, salience, cause }: Moving): Move {
  return { from: from.name, to: to.name, tier, owner, salience, cause }
}

function idsOf(records: readonly Located[]): string[] {
  return records.map(({ record }) => record.id)
}

/** Records are read anew and whole, since those that were chosen lack their vectors and may be gone by now. */
function moveStep(
  parts: Parts,
  { id, records }: Step,
  { moving, begun }: { readonly moving: Moving; readonly begun: () => void },
  context: Context,
): Promise<Located[]> {
  return parts.locks.run(recordLocks(records), context, async () => {
    const step = { ...moving, records: await readWhole(parts, { ...moving, records }, context) }
    const ids = idsOf(step.records)
    const whole = moving.intent === 'whole'
    if (whole && ids.length === 0) parts.journal.endMove(id, 'undone')
    if (ids.length === 0) return []
    if (!whole) journalled('not_sent', () => parts.journal.beginMove(id, moveOf(step), ids))
    begun()
    parts.step('begun')
    return carryOver(parts, id, step, context)
  })
}

async function readWhole(
  parts: Parts,
  { from, owner, records }: Moving,
  context: Context,
): Promise<Located[]> {
  const ids = idsOf(records)
  const { located, silent } = await locateAt(parts, from, { ids, owner }, context)
  refuseSilence(silent)
  return located.filter(({ record }) => holder(record) === owner)
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
