import { A2mError, type ErrorData } from '../../protocol/errors.js'
import type { Context } from '../../protocol/memory.js'
import { findAt } from '../keys.js'
import { locate } from '../locate.js'
import type { Parts } from '../parts.js'
import { holdToWord } from './held-to-word.js'
import { type Answered, byOwner, type Part, type Placed } from './placing.js'
import { readBack } from './read-back.js'
import { type Failed, send, writeError } from './writing.js'

/** A part that was not written: whether it may have been all the same, and the error that it is, given what remains. */
export interface Failure {
  readonly outcome: Failed['outcome']
  readonly error: (data: ErrorData) => A2mError
}

/**
 * Writes a part at its upstream, which should take all of it or nothing (§4.2). A write with a key whose outcome is unknown is not
 * sent again, since it would count twice: what stands there says how it ended.
 */
export async function writePart(
  parts: Parts,
  part: Part,
  answered: Answered,
  context: Context,
): Promise<Failure | undefined> {
  const { source, items } = part
  noteCarried(parts, part)
  const sent = await send(parts, source, items, context)
  if (sent.state === 'failed') {
    const landed = sent.outcome === 'unknown' && (await readBack(parts, part, answered, context))
    if (landed) return undefined
    return { outcome: sent.outcome, error: (data) => writeError(source, sent, data) }
  }
  for (const [index, item] of items.entries()) {
    if (item.slot) answered.set(item, source.translation.shownId(sent.ids[index] ?? item.entry.id))
  }
  const failure = await strangers(parts, part, answered, context)
  return failure ?? holdToWord(parts, part, context)
}

function noteCarried(parts: Parts, { source, items }: Part): void {
  if (source.profile.extended) return
  for (const { entry, carried, slot } of items) {
    if (carried === undefined) continue
    parts.carried.add(source.name, entry.owner ?? '', [slot?.held?.hereId ?? entry.id])
  }
}

/**
 * A store that keeps ids or keys for everybody alike answers one that is somebody else's as if it had been written. Read back under
 * the owner, the record is not there.
 */
async function strangers(
  parts: Parts,
  part: Part,
  answered: Answered,
  context: Context,
): Promise<Failure | undefined> {
  const { source } = part
  const what = (await holdsIdOfOther(parts, part, answered, context))
    ? 'that id'
    : (await holdsKeyOfOther(parts, part, answered, context))
      ? 'that key'
      : undefined
  if (what === undefined) return undefined
  const message = `${source.name} keeps ${what} for somebody else`
  return { outcome: 'unknown', error: (data) => new A2mError('SCOPE_DENIED', message, data) }
}

async function holdsIdOfOther(
  parts: Parts,
  { source, items }: Part,
  answered: Answered,
  context: Context,
): Promise<boolean> {
  if (source.profile.extended || source.owners === 'common') return false
  const doubtful = items.filter((item) => item.named && keptId(item, answered))
  for (const [owner, group] of byOwner(doubtful)) {
    const ids = group.map(({ entry }) => entry.id)
    const { located } = await locate(parts, { ids, owner }, context)
    const here = new Set(located.map(({ record }) => record.id))
    if (ids.some((id) => !here.has(id))) return true
  }
  return false
}

function keptId(item: Placed, answered: Answered): boolean {
  return (answered.get(item) ?? item.entry.id) === item.entry.id
}

/** An id that nobody expected is a record's that came to the key meanwhile; the owner must be able to read it. */
async function holdsKeyOfOther(
  parts: Parts,
  { source, items }: Part,
  answered: Answered,
  context: Context,
): Promise<boolean> {
  const odd = items.filter((item) => item.slot && !isExpected(item, answered))
  for (const slot of new Set(odd.flatMap((item) => item.slot ?? []))) {
    const there = await findAt(parts, source, slot, { ...UNUSED, context })
    if (there?.length === 0) return true
  }
  return false
}

const UNUSED = { embeddings: false, quiet: true } as const

function isExpected(item: Placed, answered: Answered): boolean {
  return keptId(item, answered) || answered.get(item) === item.slot?.id
}
