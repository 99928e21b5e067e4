import { RECORD_FIELDS } from './record-fields.js'
import type { MemoryRecord } from './records.js'
import { parseInstant } from './time.js'

/** A conjunction of equality tests (§5.2): a name, and the value or, as an array, any of the values that it may have. */
export type Where = Readonly<Record<string, unknown>>

/** A `where` on a field of the specification tests it and nothing else (§5.2). */
const FIELDS: ReadonlySet<string> = new Set(RECORD_FIELDS)

const INSTANT_FIELDS: ReadonlySet<string> = new Set(['created_at', 'accessed_at'])

/**
 * The one meaning of `where`. A field of the specification tests that field and nothing else, any other name the key of
 * `metadata`; `null` matches what is absent or null, numbers by value, timestamps by instant, objects by structure.
 */
export function matches(record: MemoryRecord, where: Where): boolean {
  for (const name of Object.keys(where)) {
    const wanted = where[name]
    const actual = fieldOf(record, name)
    const found = Array.isArray(wanted)
      ? holds(wanted, actual) ||
        wanted.some((value) => same(name, actual, value)) ||
        same(name, actual, wanted)
      : same(name, actual, wanted)
    if (!found) return false
  }
  return true
}

/** Long lists are of ids: one look for the text itself, before each is compared by every rule. */
function holds(wanted: readonly unknown[], actual: unknown): boolean {
  return typeof actual === 'string' && wanted.includes(actual)
}

function fieldOf(record: MemoryRecord, name: string): unknown {
  if (name === 'metadata') return record.metadata?.value()
  if (FIELDS.has(name)) return record[name as keyof MemoryRecord]
  const metadata = record.metadata?.value() as Readonly<Record<string, unknown>> | undefined
  return metadata !== undefined && Object.hasOwn(metadata, name) ? metadata[name] : undefined
}

function same(name: string, actual: unknown, wanted: unknown): boolean {
  if (wanted === null || wanted === undefined) return actual === null || actual === undefined
  if (typeof wanted === 'object') return equal(actual, wanted)
  if (actual === wanted) return true
  return INSTANT_FIELDS.has(name) && sameInstant(actual, wanted)
}

/** Of JSON values: arrays by order, objects by their members, numbers by value (-0 is 0). */
function equal(left: unknown, right: unknown): boolean {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object' || !left || !right) return false
  if (Array.isArray(left) !== Array.isArray(right)) return false
  const names = Object.keys(left)
  return (
    names.length === Object.keys(right).length &&
    names.every(
      (name) => Object.hasOwn(right, name) && equal(member(left, name), member(right, name)),
    )
  )
}

function member(value: object, name: string): unknown {
  return (value as Readonly<Record<string, unknown>>)[name]
}

function sameInstant(actual: unknown, wanted: unknown): boolean {
  if (typeof actual !== 'string' || typeof wanted !== 'string') return false
  const instant = parseInstant(actual)
  return instant !== undefined && instant === parseInstant(wanted)
}
