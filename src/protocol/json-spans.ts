/** A part of a text, from `start` up to but not including `end`. */
export interface Span {
  readonly start: number
  readonly end: number
}

export const QUOTE = 0x22
export const BACKSLASH = 0x5c
export const COMMA = 0x2c
export const COLON = 0x3a
export const SPACE = 0x20
export const OPEN_ARRAY = 0x5b
export const CLOSE_ARRAY = 0x5d
export const OPEN_OBJECT = 0x7b
export const CLOSE_OBJECT = 0x7d

/** Most strings of a message are names and short values; longer ones are jumped over. */
const SHORT = 24

/** Where the string that opens at `start` is over. Like all here it takes a text that has parsed: no syntax is checked. */
export function endOfString(text: string, start: number): number {
  let at = start + 1
  for (const near = at + SHORT; at < near; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at + 1
    if (code === BACKSLASH) at++
  }
  let end = text.indexOf('"', at)
  while (text.charCodeAt(end - 1) === BACKSLASH && isEscaped(text, end, at)) {
    end = text.indexOf('"', end + 1)
  }
  return end + 1
}

/** Whether the backslashes before `at` are odd in number; none before `from`, where no escape is open, belongs to them. */
function isEscaped(text: string, at: number, from: number): boolean {
  let first = at
  while (first > from && text.charCodeAt(first - 1) === BACKSLASH) first--
  return (at - first) % 2 === 1
}

/** Where the value that starts at `start`, space before it included, is over. */
function endOfValue(text: string, start: number): number {
  const at = skipSpace(text, start)
  const code = text.charCodeAt(at)
  if (code === QUOTE) return endOfString(text, at)
  return code === OPEN_OBJECT || code === OPEN_ARRAY
    ? endOfContainer(text, at)
    : endOfWord(text, at)
}

function endOfContainer(text: string, start: number): number {
  let depth = 0
  for (let at = start; ; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at) - 1
    else if (code === OPEN_OBJECT || code === OPEN_ARRAY) depth++
    else if ((code === CLOSE_OBJECT || code === CLOSE_ARRAY) && --depth === 0) return at + 1
  }
}

function endOfWord(text: string, start: number): number {
  let at = start
  while (at < text.length && !endsWord(text.charCodeAt(at))) at++
  return at
}

function endsWord(code: number): boolean {
  return code === COMMA || code === CLOSE_OBJECT || code === CLOSE_ARRAY || code <= SPACE
}

function skipSpace(text: string, start: number): number {
  let at = start
  while (text.charCodeAt(at) <= SPACE) at++
  return at
}

const NAME = '"metadata"'
/** As much of the name as V8 searches for at its fastest; and a quote, which it looks for first, is rare in prose. */
const NEEDLE = NAME.slice(0, 6)

/** The values of all names `metadata` that are spelt without escapes, outermost ones only, in the order of the text. */
export function metadataSpans(text: string): Span[] {
  const spans: Span[] = []
  let at = text.indexOf(NEEDLE)
  while (at >= 0) {
    const colon = isWholeString(text, at) ? skipSpace(text, at + NAME.length) : at
    let next = at + 1
    if (text.charCodeAt(colon) === COLON) {
      const span = { start: colon + 1, end: endOfValue(text, colon + 1) }
      spans.push(span)
      next = span.end
    }
    at = text.indexOf(NEEDLE, next)
  }
  return spans
}

/** A quote that no backslash precedes opens or closes a string, and here it cannot close one. */
function isWholeString(text: string, start: number): boolean {
  return text.startsWith(NAME, start) && text.charCodeAt(start - 1) !== BACKSLASH
}

/** What a text holds, counted without regard to what its parsed value kept of it. */
export interface Survey {
  /** All names of all objects, repeated ones as often as they stand there. */
  readonly names: number
  readonly depth: number
  /** The first value of the name `id` in the outermost object. */
  readonly id: Span | undefined
}

/** Counts names and depth in one pass. */
export function survey(text: string): Survey {
  let names = 0
  let depth = 0
  let deepest = 0
  let string = 0
  let id: Span | undefined
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        string = at
        at = endOfString(text, at) - 1
        break
      case COLON:
        names++
        if (depth === 1) id ??= idAt(text, string, at)
        break
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        deepest = Math.max(deepest, ++depth)
        break
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        depth--
    }
  }
  return { names, depth: deepest, id }
}

function idAt(text: string, name: number, colon: number): Span | undefined {
  if (!text.startsWith('"id"', name)) return undefined
  return { start: colon + 1, end: endOfValue(text, colon + 1) }
}
