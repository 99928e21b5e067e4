import { isEscaped, JsonText, print } from './json.js'
import type { Method, RecalledRecord, ResultOf } from './methods.js'

/** Every field but the id, which comes first, in the order of §3.1. */
const NAMES: { readonly [F in Exclude<keyof RecalledRecord, 'id'>]-?: true } = {
  content: true,
  created_at: true,
  role: true,
  metadata: true,
  group: true,
  tier: true,
  salience: true,
  accessed_at: true,
  access_count: true,
  owner: true,
  session: true,
  key: true,
  revision: true,
  embedding: true,
  uri: true,
  media_type: true,
  score: true,
  explain: true,
}

/** A field with what stands before its value: `opening` where that is a text without escapes, its quote included. */
interface Field {
  readonly name: keyof typeof NAMES
  readonly label: string
  readonly opening: string
}

const FIELDS: readonly Field[] = Object.keys(NAMES).map((name) => ({
  name: name as keyof typeof NAMES,
  label: `,"${name}":`,
  opening: `,"${name}":"`,
}))

/**
 * Prints the fields of a record that there are, as `print` does, in a set order. That the names are known, and their quotes with them,
 * makes fewer pieces to put together.
 */
export function printRecord(record: RecalledRecord): string {
  let printed = `{"id":${print(record.id)}`
  for (const { name, label, opening } of FIELDS) {
    const value = record[name]
    if (value === undefined) continue
    printed +=
      typeof value === 'string' && !isEscaped(value) ? `${opening}${value}"` : label + print(value)
  }
  return `${printed}}`
}

/** Methods whose results are lists of records, which make up nearly all of what is printed. */
const PRINTABLE: { readonly [M in Method]?: (result: ResultOf<M>) => object } = {
  'memory/recall': withPrinted,
  'memory/timeline': withPrinted,
}

/** A result as `print` prints it soonest. */
export function printable<M extends Method>(method: M, result: ResultOf<M>): unknown {
  return PRINTABLE[method]?.(result) ?? result
}

/** A result without records is none of these methods', and is left for whoever checks it. */
function withPrinted<R extends { readonly records: readonly RecalledRecord[] }>(result: R): object {
  if (!Array.isArray(result?.records)) return result
  let printed = ''
  for (const record of result.records) printed += (printed === '' ? '' : ',') + printRecord(record)
  return { ...result, records: new JsonText(`[${printed}]`) }
}
