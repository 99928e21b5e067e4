import type { MemoryRecord } from '../../src/protocol/records.js'

const START = Date.UTC(2026, 6, 28)

/** A record of a test; the later its number, the younger it is. */
export function sampleRecord(number: number, over: Partial<MemoryRecord> = {}): MemoryRecord {
  const created_at = new Date(START + number * 1000).toISOString()
  return { id: `id-${number}`, content: `content ${number}`, created_at, ...over }
}
