import { JsonText } from './json.js'
import { RecordList } from './record-reader.js'
import type { MemoryRecord } from './records.js'
import { isTimestamp } from './time.js'

type Field = Exclude<keyof MemoryRecord, 'embedding'>

/** What each field of a record must be, as the schema has it; told by hand, since every answer holds dozens of them. */
const TESTS: { readonly [F in Field]: (value: unknown) => boolean } = {
  id: isSolid,
  content: isText,
  created_at: isInstant,
  role: isText,
  metadata: (value) => value instanceof JsonText && value.text.startsWith('{'),
  group: isText,
  tier: isText,
  salience: Number.isFinite,
  accessed_at: isInstant,
  access_count: Number.isSafeInteger,
  owner: isText,
  session: isText,
  key: isText,
  revision: Number.isSafeInteger,
  uri: isText,
  media_type: isText,
  score: Number.isFinite,
}
const BY_NAME = new Map<string, (value: unknown) => boolean>(Object.entries(TESTS))

/**
 * Whether a result holds nothing but records that are as the schema would leave them: known fields alone, none of them null,
 * no vectors. False says nothing against it, only that the schema has to look.
 */
export function isPlainList(result: unknown): result is { records: MemoryRecord[] } {
  if (result instanceof RecordList) return true
  if (typeof result !== 'object' || result === null || !('records' in result)) return false
  const { records } = result
  return Object.keys(result).length === 1 && Array.isArray(records) && records.every(isPlain)
}

function isPlain(record: unknown): boolean {
  if (typeof record !== 'object' || record === null) return false
  const fields = record as Readonly<Record<string, unknown>>
  for (const name in fields) if (BY_NAME.get(name)?.(fields[name]) !== true) return false
  return 'id' in fields && 'content' in fields && 'created_at' in fields
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}

function isSolid(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

function isInstant(value: unknown): boolean {
  return typeof value === 'string' && isTimestamp(value)
}
