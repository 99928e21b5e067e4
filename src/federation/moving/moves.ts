import type { Context } from '../../protocol/memory.js'
import type { Move } from '../../state/journal.js'
import { grouped } from '../grouping.js'
import type { Source } from '../layout.js'
import { batchOf, groupOf, holder, type Located, locateAt, refuseSilence } from '../locate.js'
import type { Page } from '../log/chronicle.js'
import type { Parts } from '../parts.js'
import { recordLocks } from '../record-locks.js'
import { journalled, writeError } from '../writing/writing.js'
import { carryOver } from './carry-over.js'
import { promoteWithin } from './within.js'

/** Records of one owner that go from one upstream to a tier of another, or of the same. */
export interface Moving {
  readonly from: Source
  readonly to: Source
  readonly tier: string
  readonly owner: string | null
  readonly records: readonly Located[]
  /** What is added to their salience as they arrive. */
  readonly salience?: number | undefined
  /** What the move is a part of, where that is told as a whole when it ends, and what its records count as there. */
  readonly part?: { readonly page: Page; readonly as: 'moved' | 'promoted' } | undefined
}

export interface Journey {
  /** They are taken one after the other. Several moves are in one step where a group is gathered from several places. */
  readonly steps: readonly (readonly Moving[])[]
  /** `whole`: all steps are in the journal before the first, so that after a crash all are finished. */
  readonly intent?: 'whole' | undefined
  /** Told of records that are where they belong, as they arrive. */
  readonly moved: (records: readonly Located[]) => void
}

/** Records in one journalled step; a group is never cut, however large. More of them would hold up who reads there meanwhile. */
const RECORDS_PER_STEP = 100

/**
 * Cuts records into steps at the borders of groups: those of one place together, and each group that is spread over several by
 * itself, since it goes whole or not at all.
 */
export function stepsOf(records: readonly Located[]): Located[][] {
  const steps: Located[][] = []
  const filling = new Map<string, Located[]>()
  for (const unit of grouped(records, ({ record }) => groupOf(record)).values()) {
    const [place = '', elsewhere] = new Set(unit.map(batchOf))
    const open = elsewhere === undefined ? filling.get(place) : undefined
    if (open !== undefined && open.length + unit.length <= RECORDS_PER_STEP) {
      open.push(...unit)
      continue
    }
    steps.push(unit)
    if (elsewhere === undefined) filling.set(place, unit)
  }
  return steps
}

/** A move of a step. `begun` has its intent in the journal, and nothing has been done for it. */
interface Planned {
  readonly id: string
  readonly moving: Moving
  state: 'planned' | 'begun' | 'under_way' | 'arrived'
}

/**
 * Moves records so that each is in one place at least at every instant. The journal has the intent first, so that what a crash
 * leaves half-done is finished or undone; of a group that is gathered from several places, it has all before the first effect.
 */
export async function moveAll(parts: Parts, journey: Journey, context: Context): Promise<void> {
  const ahead = journey.intent === 'whole'
  const todo = journey.steps.map((step) =>
    step.map((moving): Planned => ({ id: parts.newId(), moving, state: 'planned' })),
  )
  if (ahead) begin(parts, todo.flat())
  for (const [index, step] of todo.entries()) {
    try {
      if (!ahead && step.length > 1) begin(parts, step)
      for (const planned of step) journey.moved(await take(parts, planned, context))
    } catch (thrown) {
      giveUp(parts, step, todo.slice(index + 1))
      throw thrown
    }
  }
}

/** Of a group a part of which has gone, the rest is left to the journal, to be finished as soon as it can be. */
function giveUp(
  parts: Parts,
  failed: readonly Planned[],
  later: readonly (readonly Planned[])[],
): void {
  const open = new Set(parts.journal.openMoves().map(({ id }) => id))
  const hasEffect = failed.some(
    ({ id, state }) => state === 'arrived' || (state === 'under_way' && open.has(id)),
  )
  const undone = failed.filter(({ id, state }) => state === 'under_way' && !open.has(id))
  if (!hasEffect) callOff(parts, failed)
  else if (failed.length > 1) begin(parts, undone)
  callOff(parts, later.flat())
}

function begin(parts: Parts, planned: readonly Planned[]): void {
  const moves = planned.map(({ id, moving }) => entryOf(id, moving))
  journalled('not_sent', () => parts.journal.beginMoves(moves))
  for (const one of planned) one.state = 'begun'
}

function entryOf(id: string, { from, to, tier, owner, records, salience, part }: Moving) {
  const cause = part && { intent: part.page.id, as: part.as }
  const move: Move = { from: from.name, to: to.name, tier, owner, salience, cause }
  return { id, move, ids: records.map(({ record }) => record.id) }
}

/** Ends the intents of what nothing has been done for. */
function callOff(parts: Parts, planned: readonly Planned[]): void {
  for (const { id, state } of planned) if (state === 'begun') parts.journal.endMove(id, 'undone')
}

function take(parts: Parts, planned: Planned, context: Context): Promise<Located[]> {
  const { from, to, records } = planned.moving
  return parts.locks.run(recordLocks(records), context, async () => {
    const within = from.name === to.name
    const arrived = await (within ? takeWithin : takeAcross)(parts, planned, context)
    if (arrived.length > 0) planned.state = 'arrived'
    return arrived
  })
}

/** Records are read anew and whole, since those that were chosen lack their vectors and may be gone by now. */
async function takeAcross(parts: Parts, planned: Planned, context: Context): Promise<Located[]> {
  const moving = { ...planned.moving, records: await readWhole(parts, planned.moving, context) }
  if (moving.records.length === 0) {
    callOff(parts, [planned])
    return []
  }
  if (planned.state === 'planned') begin(parts, [{ ...planned, moving }])
  planned.state = 'under_way'
  parts.step('begun')
  return carryOver(parts, planned.id, moving, context)
}

/** Alone it needs no journal: an upstream's own move is all or nothing. */
async function takeWithin(parts: Parts, planned: Planned, context: Context): Promise<Located[]> {
  const { id, moving } = planned
  const { part, owner, to } = moving
  const journal = planned.state === 'begun' ? parts.journal : undefined
  planned.state = 'under_way'
  const end = await promoteWithin(parts, moving, context)
  if (end.state === 'failed') {
    if (end.outcome !== 'unknown') journal?.endMove(id, 'undone')
    throw writeError(to, end, {})
  }
  if (journal === undefined) part?.page.note(owner, { [part.as]: end.arrived.length })
  else journalled('unknown', () => journal.endMove(id, 'arrived'))
  return end.arrived
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
  const { id, owner, tier, salience, ids } = open
  const { located, silent } = await locateAt(parts, from, { ids, owner }, context)
  refuseSilence(silent)
  const moving = { from, to, tier, owner, records: located, salience }
  await parts.locks.run(recordLocks(located), context, async () => {
    if (from === to) return takeWithin(parts, { id, moving, state: 'begun' }, context)
    const records = await readWhole(parts, moving, context)
    return carryOver(parts, id, { ...moving, records }, context)
  })
  return true
}
