import type { Context } from '../../protocol/memory.js'
import type { MemoryRecord } from '../../protocol/records.js'
import { grouped } from '../grouping.js'
import { findAt } from '../keys.js'
import { locate } from '../locate.js'
import type { Parts } from '../parts.js'
import { type Answered, byOwner, type Part, type Placed } from './placing.js'

/**
 * Looks how a write with keys ended that nobody confirmed: whether all of it stands there as it was to be. Then `answered` has
 * what its records are called. A write without keys was repeated already, under the same ids.
 */
export async function readBack(
  parts: Parts,
  part: Part,
  answered: Answered,
  context: Context,
): Promise<boolean> {
  const keyed = part.items.filter((item) => item.slot !== undefined)
  if (keyed.length === 0) return false
  const found: Answered = new Map()
  const landed =
    (await keysLanded(parts, { ...part, items: keyed }, found, context)) &&
    (await idsLanded(parts, part, context))
  if (landed) for (const [item, id] of found) answered.set(item, id)
  return landed
}

async function keysLanded(
  parts: Parts,
  { source, items }: Part,
  found: Answered,
  context: Context,
): Promise<boolean> {
  const look = { embeddings: false, quiet: true, context }
  for (const [slot, writes] of grouped(items, (item) => item.slot)) {
    const last = writes.at(-1)
    if (slot === undefined || last === undefined) continue
    const there = (await findAt(parts, source, slot, look)) ?? []
    const landed = there.find(({ record }) => isWritten(record, last))
    if (landed === undefined) return false
    for (const item of writes) found.set(item, landed.record.id)
  }
  return true
}

/** Where revisions are told, the same content of an earlier write is no proof. */
export function isWritten(
  { content, revision }: MemoryRecord,
  wrote: { readonly entry: { readonly content: string }; readonly revision: number | undefined },
): boolean {
  const counted = revision === undefined || wrote.revision === undefined
  return content === wrote.entry.content && (counted || revision === wrote.revision)
}

async function idsLanded(parts: Parts, { items }: Part, context: Context): Promise<boolean> {
  const plain: readonly Placed[] = items.filter((item) => item.slot === undefined)
  for (const [owner, group] of byOwner(plain)) {
    const ids = group.map(({ entry }) => entry.id)
    const { located } = await locate(parts, { ids, owner }, context)
    const there = new Set(located.map(({ record }) => record.id))
    if (ids.some((id) => !there.has(id))) return false
  }
  return true
}
