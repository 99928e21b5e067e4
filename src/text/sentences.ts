/*
 * No pattern below can fail after it has begun to match, so that a text of any shape is walked through once.
 */

const LINE_BREAKS = '\\n\\r\\v\\f\\u0085\\u2028\\u2029'
/** What ends a sentence where a space or nothing follows. */
const SOFT = '.!?\\u2026\\u203d'
/** What ends one wherever it stands: of scripts that put no space after it, or that use it for nothing else. */
const HARD =
  '\\u3002\\uff01\\uff1f\\uff61\\uff0e\\u061f\\u06d4\\u0964\\u0965\\u0589\\u1362\\u1367\\u1368\\u104b\\u17d4\\u17d5\\u0f0d'
const CLOSING = '"\'\\u201d\\u2019\\u00bb)\\]\\u300d\\u300f\\u3011\\uff09\\u300b\\u3009'
const CANDIDATE = new RegExp(`[${SOFT}${HARD}]+[${CLOSING}]*|[${LINE_BREAKS}]\\s*`, 'gu')
const BREAK = new RegExp(`[${LINE_BREAKS}]`, 'u')
const BREAKS = new RegExp(`\\r\\n|[${LINE_BREAKS}]`, 'gu')
const HARD_END = new RegExp(`[${HARD}]`, 'u')
const SPACES = /\s*/y
const LOWER = /\p{Ll}/u
/** The word that a full stop belongs to, looked for in the last characters before it. */
const LAST_WORD = /[\p{L}\p{N}.]+$/u
const LONGEST_ABBREVIATION = 12
const LIST_MARKER = /^(?:[-*\u2022\u00b7\u2013>]|#{1,6}|\(?\d{1,3}[.)])\s+/u

/** Words that carry a full stop in the middle of a sentence; those that often end one as well are left out. */
const ABBREVIATIONS: ReadonlySet<string> = new Set(
  (
    'mr mrs ms dr prof st sen rep gen col lt sgt rev hon vs cf fig figs eq sec ch vol art no nos pp approx dept est ' +
    'e.g i.e jan feb mar apr jun jul aug sep sept oct nov dec ' +
    'z.b d.h u.a o.ä bzw ca vgl nr str abs hr fr mme mlle sra srta dott sig'
  ).split(' '),
)

/**
 * Cuts text of any script into sentences, in order and each as it stands in the text, without the space around it and the
 * marker of a list or heading in front of it. Lines are sentences of their own, unless one goes on in lower case on the next.
 */
export function sentences(text: string): string[] {
  const found: string[] = []
  let start = 0
  for (const { 0: end, index } of text.matchAll(CANDIDATE)) {
    if (!endsHere(text, { start, index, end })) continue
    add(found, text.slice(start, index + end.length))
    start = index + end.length
  }
  add(found, text.slice(start))
  return found
}

function add(found: string[], piece: string): void {
  const sentence = piece.trim().replace(LIST_MARKER, '').trim()
  if (sentence !== '') found.push(sentence)
}

/** A candidate: what may be the end of the sentence that began at `start`, and where it stands. */
interface Candidate {
  readonly start: number
  readonly index: number
  readonly end: string
}

function endsHere(text: string, candidate: Candidate): boolean {
  const { index, end } = candidate
  if (BREAK.test(end)) return !goesOn(text, candidate)
  if (HARD_END.test(end)) return true
  const after = index + end.length
  const next = afterSpace(text, after)
  if (next === undefined) return true
  if (next.at === after || LOWER.test(next.character)) return false
  return end[0] !== '.' || end[1] === '.' || !abbreviates(text, candidate)
}

/** A single line break inside a sentence that was wrapped. */
function goesOn(text: string, { index, end }: Candidate): boolean {
  const next = text.slice(index + end.length, index + end.length + 2)
  return end.match(BREAKS)?.length === 1 && LOWER.test([...next][0] ?? '')
}

function afterSpace(text: string, from: number) {
  SPACES.lastIndex = from
  SPACES.test(text)
  const at = SPACES.lastIndex
  return at >= text.length
    ? undefined
    : { at, character: String.fromCodePoint(text.codePointAt(at) ?? 0) }
}

/** An initial, a known abbreviation, or the number of a list at the beginning of the sentence. */
function abbreviates(text: string, { start, index }: Candidate): boolean {
  const before = text.slice(Math.max(start, index - LONGEST_ABBREVIATION), index)
  const word = LAST_WORD.exec(before)?.[0] ?? ''
  if (/^\d{1,3}$/.test(word)) return text.slice(start, index).trim() === word
  return /^\p{Lu}$/u.test(word) || ABBREVIATIONS.has(word.toLowerCase())
}
