import { matches } from '../../protocol/matches.js'
import type { MemoryRecord } from '../../protocol/records.js'

/** Fields that a move must leave as they were. */
const EXACT = [
  'content',
  'created_at',
  'role',
  'group',
  'session',
  'key',
  'uri',
  'media_type',
] as const satisfies readonly (keyof MemoryRecord)[]
/** Fields that only rise. */
const RISING = ['revision', 'access_count'] as const satisfies readonly (keyof MemoryRecord)[]

/**
 * The first field of a record that is not at its new place as it was sent there; undefined where nothing is missing. What has been
 * rewritten there since is a newer state of the same record.
 */
export function lostField(sent: MemoryRecord, kept: MemoryRecord | undefined): string | undefined {
  if (kept === undefined) return 'id'
  if (sent.key !== undefined && (kept.revision ?? 0) > (sent.revision ?? 0)) return undefined
  return (
    EXACT.find((field) => sent[field] !== kept[field]) ??
    RISING.find((field) => (kept[field] ?? 0) < (sent[field] ?? 0)) ??
    (sameVector(sent.embedding, kept.embedding) ? undefined : 'embedding') ??
    (sameMetadata(sent, kept) ? undefined : 'metadata')
  )
}

/** To the bit; a vector that was not sent need not be there. */
export function sameVector(
  sent: readonly number[] | undefined,
  kept: readonly number[] | undefined,
): boolean {
  if (sent === undefined) return true
  return (
    kept?.length === sent.length && sent.every((number, index) => Object.is(number, kept[index]))
  )
}

/** By structure: an upstream may print it anew. */
function sameMetadata({ metadata }: MemoryRecord, kept: MemoryRecord): boolean {
  if (metadata === undefined || metadata.text === kept.metadata?.text) return true
  return matches(kept, { metadata: metadata.value() })
}
