import { invalidParams } from './errors.js'
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  endOfString,
  metadataSpans,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  type Span,
  survey,
} from './json-spans.js'

/** The deepest nesting of arrays and objects that is accepted. */
export const MAX_DEPTH = 128

/**
 * JSON kept as its source text, because a parse and a print would change it: 9007199254740993, 1.0, -0 and 1e400, a key
 * called `__proto__`, the order of keys that look like integers. Holds one whole JSON value without line breaks.
 */
export class JsonText {
  readonly text: string
  #value: unknown
  #parsed = false

  constructor(text: string) {
    this.text = text
  }

  /** The text of a value that was made here; undefined in it is left out as JSON.stringify does. */
  static of(value: unknown): JsonText {
    return new JsonText(print(value))
  }

  /** The value as JavaScript sees it, numerals rounded to doubles. Parsed once. */
  value(): unknown {
    if (!this.#parsed) {
      this.#value = JSON.parse(this.text)
      this.#parsed = true
    }
    return this.#value
  }

  /** For `print` alone: what stands in the text until the source is put there. */
  toJSON(): string {
    return MARK
  }
}

/** A character that texts hardly hold. One beyond Latin-1 would make V8 print everything in two bytes a character. */
const MARK = '\u0010'
/** Without its quotes: V8 searches for up to six characters several times as fast as for more. */
const PRINTED_MARK = '\\u0010'

/** Prints a value as JSON, each `JsonText` in it to the letter and -0 with its sign, which JSON.stringify drops. */
export function print(value: unknown): string {
  const found: Found = { sources: [], negativeZero: false }
  collect(value, found)
  if (found.negativeZero) return printPiecemeal(value)
  const { sources } = found
  const text = JSON.stringify(value)
  if (sources.length === 0) return text
  const pieces = text.split(PRINTED_MARK)
  if (pieces.length !== sources.length + 1) return printPiecemeal(value)
  let printed = ''
  for (const [index, source] of sources.entries()) {
    printed += pieces[index]?.slice(index === 0 ? 0 : 1, -1) + source
  }
  return printed + pieces[sources.length]?.slice(1)
}

/** What a value holds that JSON.stringify would not print as it is. */
interface Found {
  /** In the order in which JSON.stringify comes to them. */
  readonly sources: string[]
  negativeZero: boolean
}

function collect(value: unknown, found: Found): void {
  if (typeof value !== 'object' || value === null) {
    if (Object.is(value, -0)) found.negativeZero = true
  } else if (value instanceof JsonText) found.sources.push(value.text)
  else if (Array.isArray(value)) for (const entry of value) collect(entry, found)
  else {
    const fields = value as Readonly<Record<string, unknown>>
    for (const key of Object.keys(fields)) collect(fields[key], found)
  }
}

/** For the rare value that holds -0 or itself what stands for a source: slower, never mistaken. */
function printPiecemeal(value: unknown): string {
  if (value instanceof JsonText) return value.text
  if (Object.is(value, -0)) return '-0'
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(printPiecemeal).join(',')}]`
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${printPiecemeal(field)}`).join(',')}}`
}

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
  if (!isObject(value)) return value
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

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function source(text: string, { start, end }: Span): JsonText {
  return new JsonText(clean(text.slice(start, end)))
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
  if (!isObject(body)) return []
  const list = body['records'] ?? [body['record']]
  return Array.isArray(list)
    ? list.filter((record) => isObject(record) && !Array.isArray(record))
    : []
}

/** How many names the objects in a value have; duplicates in the text have been lost by now. */
function countNames(value: unknown): number {
  if (!isObject(value)) return 0
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

interface Frame {
  /** The parsed container that the text at hand belongs to; undefined where slices are not wanted below. */
  readonly container: object | undefined
  readonly isArray: boolean
  /** The name under which the container stands in the nearest object above it. */
  readonly name: string
  readonly isRecord: boolean
  readonly keys: Set<string> | undefined
  key: string
  index: number
}

/** One walk over a text that has already parsed: no syntax is checked again, containers are followed in step. */
class Scan {
  readonly #text: string
  readonly #strict: boolean
  readonly #stack: Frame[] = []
  #at = 0

  constructor(text: string, strict: boolean) {
    this.#text = text
    this.#strict = strict
  }

  run(root: object): void {
    const text = this.#text
    let slice:
      | { holder: Record<string, unknown>; key: string; start: number; depth: number }
      | undefined
    let expectKey = false
    while (this.#at < text.length) {
      const code = text.charCodeAt(this.#at)
      const top = this.#stack.at(-1)
      if (code === QUOTE) {
        const start = this.#at
        this.#at = endOfString(text, start)
        if (expectKey && top !== undefined) {
          top.key = this.#key(start, this.#at)
          this.#noteKey(top)
          expectKey = false
        }
        continue
      }
      if (code === COLON && top !== undefined) {
        this.#at++
        if (slice === undefined && this.#wanted(top)) {
          const holder = top.container as Record<string, unknown>
          slice = { holder, key: top.key, start: this.#at, depth: this.#stack.length }
        }
        continue
      }
      if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
        this.#open(code === OPEN_ARRAY, root, slice !== undefined)
        expectKey = code === OPEN_OBJECT
        this.#at++
        continue
      }
      if (code === COMMA || code === CLOSE_OBJECT || code === CLOSE_ARRAY) {
        if (slice !== undefined && slice.depth === this.#stack.length) {
          slice.holder[slice.key] = new JsonText(clean(text.slice(slice.start, this.#at)))
          slice = undefined
        }
        if (code === COMMA) {
          if (top !== undefined) top.index++
          expectKey = top !== undefined && !top.isArray
        } else {
          this.#stack.pop()
        }
      }
      this.#at++
    }
  }

  #open(isArray: boolean, root: object, inSlice: boolean): void {
    const above = this.#stack.at(-1)
    if (this.#strict && this.#stack.length >= MAX_DEPTH) {
      throw invalidParams(`nested deeper than ${MAX_DEPTH}`)
    }
    const name = above === undefined ? '' : above.isArray ? above.name : above.key
    this.#stack.push({
      container:
        inSlice || name === 'where' ? undefined : above === undefined ? root : child(above),
      isArray,
      name,
      isRecord:
        !isArray && above !== undefined && (above.isArray ? name === 'records' : name === 'record'),
      keys: this.#strict && !isArray ? new Set() : undefined,
      key: '',
      index: 0,
    })
  }

  #wanted(top: Frame): boolean {
    // Where a name is there twice, the last value is the parsed one: it may be an array, or lack what is in the first.
    if (top.container === undefined || Array.isArray(top.container)) return false
    if (!Object.hasOwn(top.container, top.key)) return false
    return (
      (top.isRecord && top.key === 'metadata') ||
      (this.#strict && this.#stack.length === 1 && top.key === 'id')
    )
  }

  #key(start: number, end: number): string {
    const raw = this.#text.slice(start + 1, end - 1)
    return raw.includes('\\') ? JSON.parse(`"${raw}"`) : raw
  }

  #noteKey(top: Frame): void {
    if (top.keys === undefined) return
    if (top.keys.has(top.key)) throw invalidParams(`duplicate key ${JSON.stringify(top.key)}`)
    top.keys.add(top.key)
  }
}

/** The parsed counterpart of the container that opens now; undefined where a duplicate key has put something else there. */
function child(above: Frame): object | undefined {
  if (above.container === undefined) return undefined
  const key = above.isArray ? above.index : above.key
  if (!Object.hasOwn(above.container, key)) return undefined
  const value = (above.container as Record<string, unknown>)[key]
  return isObject(value) ? value : undefined
}

function clean(slice: string): string {
  return (
    slice.includes('\n') || slice.includes('\r') ? slice.replace(/[\r\n]/g, '') : slice
  ).trim()
}
