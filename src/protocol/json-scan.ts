import { invalidParams } from './errors.js'
import { JsonText } from './json.js'
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  endOfString,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from './json-spans.js'

/** The deepest nesting of arrays and objects that is accepted. */
export const MAX_DEPTH = 128

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
export class Scan {
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
          slice.holder[slice.key] = sourceOf(text.slice(slice.start, this.#at))
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
  return isContainer(value) ? value : undefined
}

/** A piece of a text as a value of its own: without line breaks, and without the space around it. */
export function sourceOf(piece: string): JsonText {
  return new JsonText(clean(piece))
}

function clean(slice: string): string {
  return (
    slice.includes('\n') || slice.includes('\r') ? slice.replace(/[\r\n]/g, '') : slice
  ).trim()
}

/** An object or an array. */
export function isContainer(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
