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
