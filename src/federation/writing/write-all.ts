import type { ErrorData } from '../../protocol/errors.js'
import type { Context } from '../../protocol/memory.js'
import type { Replaced, WritePart } from '../../state/journal.js'
import { grouped } from '../grouping.js'
import type { Parts } from '../parts.js'
import { writeLock } from '../record-locks.js'
import { type Answered, byOwner, type Part, type Placed, partsOf } from './placing.js'
import { replacedBy } from './put-back.js'
import { takeBack } from './take-back.js'
import { writePart } from './write-part.js'
import { journalled } from './writing.js'

/**
 * Writes everything or, as far as that can be, nothing: where a part fails after others were written, what they made is taken back
 * and what they replaced is put back. One part needs no journal: the upstream's own batch is all or nothing, or its outcome is
 * told as unknown.
 */
export async function writeAll(
  parts: Parts,
  items: readonly Placed[],
  context: Context,
): Promise<Answered> {
  const answered: Answered = new Map()
  const batch = partsOf(items)
  const [only] = batch
  if (only !== undefined && batch.length === 1) {
    const failure = await writePart(parts, only, answered, context)
    if (failure !== undefined) throw failure.error({})
  } else if (only !== undefined) {
    const id = parts.newId()
    const split = { id, batch }
    await parts.locks.run([writeLock(id)], context, () =>
      writeSplit(parts, split, answered, context),
    )
  }
  return answered
}

interface Split {
  /** Names the write in the journal. */
  readonly id: string
  readonly batch: readonly Part[]
}

async function writeSplit(
  parts: Parts,
  { id, batch }: Split,
  answered: Answered,
  context: Context,
): Promise<void> {
  journalled('not_sent', () => parts.journal.beginWrite(id, batch.flatMap(undoOf)))
  for (const [index, part] of batch.entries()) {
    const failure = await writePart(parts, part, answered, context)
    if (failure === undefined) continue
    const touched = batch.slice(0, failure.outcome === 'unknown' ? index + 1 : index)
    throw failure.error(await undo(parts, { id, batch: touched }, answered, context))
  }
  journalled('unknown', () => parts.journal.endWrite(id))
}

/** Undoes what can be undone now, leaves the rest to the journal, and tells what remains. */
async function undo(
  parts: Parts,
  { id, batch }: Split,
  answered: Answered,
  context: Context,
): Promise<ErrorData> {
  const undoing = takeBack(parts, { id, parts: batch.flatMap(undoOf) }, context)
  const { whole, putBack } = await undoing.catch(() => ({ whole: false, putBack: [] }))
  const left = batch.flatMap(({ items }) => items.filter((item) => item.named || !whole))
  const remaining = new Set(
    left.map((item) => answered.get(item) ?? item.slot?.id ?? item.entry.id),
  )
  return {
    remaining: [...remaining],
    ...(putBack.length > 0 ? { put_back: putBack } : {}),
  }
}

/**
 * What undoing a part takes. Only ids made here are taken back, since nobody can have retried with one: also those of entries that
 * rewrite a record, which come to be used where it is gone meanwhile.
 */
function undoOf({ source, items }: Part): WritePart[] {
  return [...byOwner(items)].map(([owner, group]) => {
    const ids = group.filter((item) => !item.named).map(({ entry }) => entry.id)
    const replaced = replacedIn(group)
    const part = { upstream: source.name, owner, ids }
    return replaced.length === 0 ? part : { ...part, replaced }
  })
}

function replacedIn(items: readonly Placed[]): Replaced[] {
  return [...grouped(items, ({ slot }) => slot)].flatMap(([slot, writes]) => {
    const last = writes.at(-1)
    if (slot?.held === undefined || last === undefined) return []
    return [replacedBy(slot, slot.held, last)]
  })
}
