import type { MemoryRecord } from '../protocol/records.js'
import { parseInstant } from '../protocol/time.js'

/** The oldest first; equal instants keep their order. */
export function byInstant(records: readonly MemoryRecord[]): readonly MemoryRecord[] {
  const at = new Map(records.map((record) => [record, parseInstant(record.created_at) ?? 0]))
  return records.toSorted((a, b) => (at.get(a) ?? 0) - (at.get(b) ?? 0))
}
