import { invalidParams } from './errors.js'

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
    return new JsonText(JSON.stringify(value))
  }

  /** The value as JavaScript sees it, numerals rounded to doubles. Parsed once. */
  value(): unknown {
    if (!this.#parsed) {
      this.#value = JSON.parse(this.text)
      this.#parsed = true
    }
    return this.#value
  }

  /** For `print` alone: a string that no accepted text can hold, since lone surrogates are refused at the border. */
  toJSON(): string {
    return MARK + this.text
  }
}

const MARK = '\ud800'
const PRINTED_MARK = '"\\ud800'
const MARKED = /"\\ud800((?:[^"\\]|\\.)*)"/g

/** Prints a value as JSON, each `JsonText` in it to the letter. */
export function print(value: unknown): string {
  const text = JSON.stringify(value)
  if (!text.includes(PRINTED_MARK)) return text
  return text.replace(MARKED, (_, escaped: string) => JSON.parse(`"${escaped}"`))
}

/** A message from a caller is held to every rule; a reply of an upstream is only searched for what must stay text. */
export type Strictness = 'strict' | 'lenient'

/**
 * Parses a JSON text and puts a `JsonText` wherever the source must survive: the `metadata` of each record (an element of an
 * array named `records`, or an object named `record`) and, strictly read, the `id` of the outermost object. Throws a
 * SyntaxError where the text is not JSON. Strictly read, duplicate keys, nesting over `MAX_DEPTH` and lone surrogates are
 * `-32602`; leniently read they are left as JSON.parse takes them.
 */
export function parse(text: string, strictness: Strictness): unknown {
  const value: unknown = JSON.parse(text)
  if (typeof value !== 'object' || value === null) return value
  const strict = strictness === 'strict'
  if (strict && SURROGATE.test(text)) refuseLoneSurrogates(text)
  if (strict || text.includes('metadata') || text.includes('\\u00'))
    new Scan(text, strict).run(value)
  return value
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

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const COLON = 0x3a

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
        this.#at = this.#endOfString(start)
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
      container: inSlice ? undefined : above === undefined ? root : child(above),
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
    if (top.container === undefined || Array.isArray(top.container)) return false
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

  #endOfString(start: number): number {
    const text = this.#text
    let end = text.indexOf('"', start + 1)
    while (text.charCodeAt(end - 1) === BACKSLASH && oddBackslashes(text, end)) {
      end = text.indexOf('"', end + 1)
    }
    return end + 1
  }
}

function oddBackslashes(text: string, end: number): boolean {
  let at = end - 1
  while (text.charCodeAt(at) === BACKSLASH) at--
  return (end - 1 - at) % 2 === 1
}

/** The parsed counterpart of the container that opens now; undefined where a duplicate key has put something else there. */
function child(above: Frame): object | undefined {
  if (above.container === undefined) return undefined
  const value: unknown = (above.container as Record<string, unknown>)[
    above.isArray ? above.index : above.key
  ]
  return typeof value === 'object' && value !== null ? value : undefined
}

function clean(slice: string): string {
  return (
    slice.includes('\n') || slice.includes('\r') ? slice.replace(/[\r\n]/g, '') : slice
  ).trim()
}
