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
}

/**
 * Prints a value as JSON.stringify does, but each `JsonText` in it to the letter and -0 with its sign. By hand, since nearly all
 * that is printed is text that needs no escape, and to find that out takes half the time of escaping it.
 */
export function print(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return quoted(value)
    case 'number':
      return Object.is(value, -0) ? '-0' : Number.isFinite(value) ? `${value}` : 'null'
    case 'boolean':
      return value ? 'true' : 'false'
    case 'object':
      return value === null ? 'null' : printObject(value)
    default:
      return 'null'
  }
}

function printObject(value: object): string {
  if (value instanceof JsonText) return value.text
  if (Array.isArray(value)) return printArray(value)
  const fields = value as Readonly<Record<string, unknown>>
  let printed = ''
  for (const name of Object.keys(fields)) {
    const field = fields[name]
    if (field === undefined) continue
    printed += `${printed === '' ? '{' : ','}${quoted(name)}:${print(field)}`
  }
  return printed === '' ? '{}' : `${printed}}`
}

function printArray(values: readonly unknown[]): string {
  let printed = ''
  for (const value of values) printed += `${printed === '' ? '[' : ','}${print(value)}`
  return printed === '' ? '[]' : `${printed}]`
}

function quoted(text: string): string {
  return isEscaped(text) ? JSON.stringify(text) : `"${text}"`
}

/** What JSON.stringify escapes: a lone surrogate too, and so, for simplicity, any. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the control characters are what is looked for
const ESCAPED = /["\\\u0000-\u001f\ud800-\udfff]/
/** The same but for the two that a search for one character finds sooner. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the control characters are what is looked for
const CONTROL_OR_SURROGATE = /[\u0000-\u001f\ud800-\udfff]/
/** From so many characters on, three quick searches take half the time of one slow one. */
const LONG = 48

/** Whether a text may have to be printed otherwise than it is. */
export function isEscaped(text: string): boolean {
  if (text.length < LONG) return ESCAPED.test(text)
  return text.includes('"') || text.includes('\\') || CONTROL_OR_SURROGATE.test(text)
}
