import { JsonText } from './json.js'
import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  endOfString,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  SPACE,
} from './json-spans.js'

/** Thrown, without a stack to be made, wherever a text is not what is read here; it says nothing against the text. */
export const UNUSUAL = Symbol('unusual')

/** Deeper values are left to those who count. */
const DEEPEST = 32
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const LITERALS = ['true', 'false', 'null']
/** An object of scalars and lists of scalars, as most metadata is: what `value` follows step by step, in one. */
const FLAT = flatObject()
/** The longest text that it is tried on, in UTF-16 units: it remembers every member that it has passed, on a stack that has an end. */
const MOST_AT_ONCE = 1 << 20
const MINUS = 0x2d
const DIGIT_0 = 0x30
const DIGIT_9 = 0x39
const POINT = 0x2e

function flatObject(): RegExp {
  const string = String.raw`"[^"\\\x00-\x1f]*"`
  const scalar = `(?:${string}|${NUMBER.source}|true|false|null)`
  const value = `(?:${scalar}|\\[(?:${scalar}(?:, ?${scalar})*)?\\])`
  const member = `${string}: ?${value}`
  return new RegExp(`\\{(?:${member}(?:, ?${member})*)?\\}`, 'y')
}

/**
 * Reads JSON that is printed as most printers do: on one line. A string without escapes becomes a slice of the text, which costs
 * nothing. Raw control characters in strings, which JSON forbids, are taken except in a `source`: whatever is made of those is
 * escaped when it is printed.
 */
export class JsonReader {
  readonly text: string
  at = 0
  /** Where the next backslash is, so that no string has to be searched for one. */
  #escape: number

  constructor(text: string) {
    this.text = text
    this.#escape = nextEscape(text, 0)
  }

  /** Walks an object whose names are few. */
  members(visit: (name: string) => void): void {
    this.expect(OPEN_OBJECT)
    do {
      this.space()
      const name = this.string()
      this.expect(COLON)
      this.space()
      visit(name)
    } while (this.goesOn(CLOSE_OBJECT))
  }

  string(): string {
    const { text, at } = this
    if (text.charCodeAt(at) !== QUOTE) throw UNUSUAL
    const end = text.indexOf('"', at + 1)
    if (end < 0) throw UNUSUAL
    if (this.#escape < end) return this.#escaped()
    this.at = end + 1
    return text.slice(at + 1, end)
  }

  #escaped(): string {
    const { text, at } = this
    const end = endOfString(text, at)
    if (end > text.length || end <= at) throw UNUSUAL
    this.at = end
    this.#escape = nextEscape(text, end)
    return parsed(text.slice(at, end))
  }

  number(): number {
    const { text, at } = this
    NUMBER.lastIndex = at
    if (!NUMBER.test(text)) throw UNUSUAL
    const end = NUMBER.lastIndex
    const value = short(text, at, end) ?? Number(text.slice(at, end))
    if (!Number.isFinite(value)) throw UNUSUAL
    this.at = end
    return value
  }

  /** An object as its text. It goes out as it is, and so it is held to the grammar here. */
  source(): JsonText {
    const start = this.at
    if (this.text.charCodeAt(start) !== OPEN_OBJECT) throw UNUSUAL
    FLAT.lastIndex = start
    if (this.text.length <= MOST_AT_ONCE && FLAT.test(this.text)) this.at = FLAT.lastIndex
    else this.#value(0)
    return new JsonText(this.text.slice(start, this.at))
  }

  #value(depth: number): void {
    const code = this.text.charCodeAt(this.at)
    if (code === QUOTE) this.#plainString()
    else if (code === OPEN_OBJECT || code === OPEN_ARRAY) this.#container(code, depth)
    else if (code === MINUS || (code >= DIGIT_0 && code <= DIGIT_9)) this.#skipNumber()
    else this.#literal()
  }

  #container(open: number, depth: number): void {
    const close = open === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY
    if (depth === DEEPEST) throw UNUSUAL
    this.at++
    this.space()
    if (this.text.charCodeAt(this.at) === close) {
      this.at++
      return
    }
    do {
      this.space()
      if (open === OPEN_OBJECT) {
        this.#plainString()
        this.expect(COLON)
        this.space()
      }
      this.#value(depth + 1)
    } while (this.goesOn(close))
  }

  /** A string without escapes or control characters. */
  #plainString(): void {
    const { text } = this
    if (text.charCodeAt(this.at) !== QUOTE) throw UNUSUAL
    let at = this.at + 1
    for (let code = text.charCodeAt(at); code !== QUOTE; code = text.charCodeAt(++at)) {
      if (!(code >= SPACE) || code === BACKSLASH) throw UNUSUAL
    }
    this.at = at + 1
  }

  #skipNumber(): void {
    NUMBER.lastIndex = this.at
    if (!NUMBER.test(this.text)) throw UNUSUAL
    this.at = NUMBER.lastIndex
  }

  #literal(): void {
    for (const word of LITERALS) {
      if (!this.text.startsWith(word, this.at)) continue
      this.at += word.length
      return
    }
    throw UNUSUAL
  }

  word(word: string): void {
    if (!this.text.startsWith(word, this.at)) throw UNUSUAL
    this.at += word.length
  }

  expect(code: number): void {
    this.space()
    if (this.text.charCodeAt(this.at++) !== code) throw UNUSUAL
  }

  /** Whether another member follows; otherwise the container is closed. */
  goesOn(close: number): boolean {
    this.space()
    const code = this.text.charCodeAt(this.at++)
    if (code === COMMA) return true
    if (code !== close) throw UNUSUAL
    return false
  }

  space(): void {
    while (this.text.charCodeAt(this.at) === SPACE) this.at++
  }

  /** Whether nothing but space is left. */
  ended(): boolean {
    return this.text.slice(this.at).trim() === ''
  }
}

function nextEscape(text: string, from: number): number {
  const at = text.indexOf('\\', from)
  return at < 0 ? Number.POSITIVE_INFINITY : at
}

/** Powers of ten that are exact as doubles, as are all numerals of fewer digits than there are of them. */
const POWERS = [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15]

/**
 * The value of a short numeral without sign and exponent: both sides of the one division are exact, and so it rounds as it should
 * (Clinger, PLDI 1990). Undefined of any other.
 */
function short(text: string, start: number, end: number): number | undefined {
  if (end - start >= POWERS.length) return undefined
  let digits = 0
  let point = end
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at)
    if (code >= DIGIT_0 && code <= DIGIT_9) digits = digits * 10 + code - DIGIT_0
    else if (code === POINT) point = at + 1
    else return undefined
  }
  return digits / (POWERS[end - point] ?? 1)
}

function parsed(source: string): string {
  try {
    return JSON.parse(source)
  } catch {
    throw UNUSUAL
  }
}
