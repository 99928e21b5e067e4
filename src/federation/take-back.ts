import type { Context } from '../protocol/memory.js'
import type { OpenWrite } from '../state/journal.js'
import type { Parts } from './parts.js'
import { erase } from './writing.js'

/**
 * Takes back what a write that failed half-way has made. Returns whether all of it is gone; where it is not, the journal
 * keeps the write and it is tried again later.
 */
export async function takeBack(parts: Parts, write: OpenWrite, context: Context): Promise<boolean> {
  const { sources } = parts.layout()
  for (const { upstream, owner, ids } of write.parts) {
    const source = sources.find(({ name }) => name === upstream)
    if (source === undefined) return false
    const { failed } = await erase(parts, source, { ids, owner }, context)
    if (failed !== undefined) return false
  }
  parts.journal.endWrite(write.id)
  return true
}
