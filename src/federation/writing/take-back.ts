import type { Context } from '../../protocol/memory.js'
import type { OpenWrite, WritePart } from '../../state/journal.js'
import type { Parts } from '../parts.js'
import { keyLock } from '../record-locks.js'
import { putBack } from './put-back.js'
import { erase } from './writing.js'

/** What became of a write that was to be undone. */
export interface TakenBack {
  /** Nothing is left to undo; otherwise the journal keeps the write, and it is tried again later. */
  readonly whole: boolean
  /** Keys whose old content was written to them again, so that their revision has risen. */
  readonly putBack: readonly string[]
}

/** Takes back what a write that failed half-way has made, and puts back what it has replaced. */
export async function takeBack(
  parts: Parts,
  write: OpenWrite,
  context: Context,
): Promise<TakenBack> {
  let whole = true
  const restored: string[] = []
  for (const part of write.parts) {
    const erased = await eraseMade(parts, part, context)
    const { failed, putBack: keys } = await restore(parts, part, context)
    whole = whole && erased && !failed
    restored.push(...keys)
  }
  if (whole) parts.journal.endWrite(write.id)
  return { whole, putBack: restored }
}

/** What is held meanwhile: the keys that something may be put back at. */
export function undoLocks(write: OpenWrite): string[] {
  return write.parts.flatMap(({ owner, replaced = [] }) =>
    replaced.map(({ key }) => keyLock(owner, key)),
  )
}

async function eraseMade(
  parts: Parts,
  { upstream, owner, ids }: WritePart,
  context: Context,
): Promise<boolean> {
  if (ids.length === 0) return true
  const source = parts.layout().sources.find(({ name }) => name === upstream)
  if (source === undefined) return false
  const { failed } = await erase(parts, source, { ids, owner }, context)
  return failed === undefined
}

async function restore(
  parts: Parts,
  { owner, replaced = [] }: WritePart,
  context: Context,
): Promise<{ readonly failed: boolean; readonly putBack: readonly string[] }> {
  let failed = false
  const keys: string[] = []
  for (const one of replaced) {
    const end = await putBack(parts, owner, one, context)
    if (end === 'failed') failed = true
    if (end === 'put_back') keys.push(one.key)
  }
  return { failed, putBack: keys }
}
