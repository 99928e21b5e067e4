import { invalidParams } from './errors.js'
import type { JsonText } from './json.js'
import { isContainer, MAX_DEPTH, Scan, sourceOf } from './json-scan.js'
import { metadataSpans, type Span, survey } from './json-spans.js'

/** A message from a caller is held to every rule; a reply of an upstream is only searched for what must stay text. */
export type Strictness = 'strict' | 'lenient'

/**
 * Parses a JSON text and puts a `JsonText` wherever the source must survive: the `metadata` of each record (an element of an
 * array named `records`, or an object named `record`, but nothing in a `where`) and, strictly read, the `id` of the outermost
 * object. Throws a SyntaxError where the text is not JSON. Strictly read, duplicate keys, nesting over `MAX_DEPTH` and lone
 * surrogates are `-32602`; leniently read they are left as JSON.parse takes them.
 */
export function parse(text: string, strictness: Strictness): unknown {
  const value: unknown = JSON.parse(text)
  if (!isContainer(value)) return value
  const strict = strictness === 'strict'
  const escapes = text.includes('\\u')
  if (strict && escapes && SURROGATE.test(text)) refuseLoneSurrogates(text)
  const plain = !(escapes && ESCAPED_LETTER.test(text))
  if (!(plain && place(text, value, strict))) new Scan(text, strict).run(value)
  return value
}

/** The source of the `id` of the outermost object, for a text that `parse` refuses though it is JSON. */
export function sourceOfId(text: string): JsonText | undefined {
  const { id } = survey(text)
  return id && source(text, id)
}

/** An escape that may be a letter of a name that is looked for. */
const ESCAPED_LETTER = /\\u00[67]/

function source(text: string, { start, end }: Span): JsonText {
  return sourceOf(text.slice(start, end))
}

/**
 * Does the work of `Scan` where the text is as it usually is, without following it bracket by bracket. That there are as many
 * values named `metadata` as records with metadata says which is whose. False, and nothing done, where anything is unusual.
 */
function place(text: string, value: Record<string, unknown>, strict: boolean): boolean {
  const holders = recordsOf(value).filter((record) => Object.hasOwn(record, 'metadata'))
  const spans = metadataSpans(text)
  if (spans.length !== holders.length) return false
  if (strict) {
    const { names, depth, id } = survey(text)
    if (depth > MAX_DEPTH || names !== countNames(value)) return false
    if (id !== undefined) value['id'] = source(text, id)
  }
  for (const [index, span] of spans.entries()) {
    const holder = holders[index]
    if (holder !== undefined) holder['metadata'] = source(text, span)
  }
  return true
}

function recordsOf(message: Record<string, unknown>): Record<string, unknown>[] {
  const body = message['params'] ?? message['result'] ?? message
  if (!isContainer(body)) return []
  const list = body['records'] ?? [body['record']]
  return Array.isArray(list)
    ? list.filter((record) => isContainer(record) && !Array.isArray(record))
    : []
}

/** How many names the objects in a value have; duplicates in the text have been lost by now. */
function countNames(value: unknown): number {
  if (!isContainer(value)) return 0
  let count = 0
  if (Array.isArray(value)) for (const entry of value) count += countNames(entry)
  else for (const name of Object.keys(value)) count += 1 + countNames(value[name])
  return count
}

const SURROGATE = /\\u[dD][89a-fA-F]/
/** Walks escapes one by one, pairs as one; the group holds an escape that is half a pair. */
const ESCAPES =
  /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)/g

function refuseLoneSurrogates(text: string): void {
  for (const [, half] of text.matchAll(ESCAPES)) {
    if (half !== undefined) throw invalidParams(`text holds \\${half}, half of a surrogate pair`)
  }
}
