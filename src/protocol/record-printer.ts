import { isEscaped, JsonText, print } from './json.js'
import type { Method, RecalledRecord, ResultOf } from './methods.js'
import { RECORD_FIELDS } from './record-fields.js'

/** A field with what stands before its value: `opening` where that is a text without escapes, its quote included. */
interface Field {
  readonly name: keyof RecalledRecord
  readonly label: string
  readonly opening: string
}

/** All but the id, which comes first. */
const FIELDS = [...RECORD_FIELDS.filter((name) => name !== 'id'), 'explain' as const].map(fieldOf)

function fieldOf(name: keyof RecalledRecord): Field {
  const label = `,${JSON.stringify(name)}:`
  return { name, label, opening: `${label}"` }
}

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
  const printed = result.records.map(printRecord).join(',')
  return { ...result, records: new JsonText(`[${printed}]`) }
}
