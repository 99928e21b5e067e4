import type { MemoryRecord } from '../protocol/records.js'
import { codePoints } from '../text/points.js'
import { byInstant } from './by-instant.js'
import type { PromptRequest, Style } from './prompt-request.js'

/** Rendered text and the records that are in it, in its order. */
export interface Rendering {
  readonly text: string
  readonly ids: readonly string[]
}

/** How the records came: the most relevant first, or the oldest first. */
export type Order = 'relevance' | 'creation'

type Layout = Exclude<Style, 'auto'>
type Asked = Pick<PromptRequest, 'style' | 'budget' | 'cite'>

/**
 * Renders records as text, one entry each. An entry begins at the beginning of a line and every further line of it is indented by
 * two spaces, so that no content can look like an entry of its own. Records without content and uri have nothing to show.
 */
export function render(records: readonly MemoryRecord[], order: Order, asked: Asked): Rendering {
  const layout = asked.style === 'auto' ? layoutFor(records, order) : asked.style
  const ordered = layout === 'transcript' && order === 'relevance' ? byInstant(records) : records
  const entries = ordered.flatMap((record) => entryOf(record, layout, asked.cite))
  const worstFirst = layout === 'transcript' || order === 'creation'
  const kept = withinBudget(
    entries,
    asked.budget ?? Infinity,
    worstFirst ? 'drop first' : 'drop last',
  )
  const whole = layout === 'transcript' ? withoutBrokenGroups(kept, ordered) : kept
  return {
    text: whole.map(({ text }) => text).join('\n'),
    ids: whole.map(({ record }) => record.id),
  }
}

const SPEAKERS: ReadonlySet<string> = new Set(['user', 'assistant', 'tool', 'system'])

/** A transcript where the records are a conversation: read in their order, or all spoken in one session. */
function layoutFor(records: readonly MemoryRecord[], order: Order): Layout {
  if (order === 'creation') return 'transcript'
  const session = records[0]?.session
  const spoken = records.every(
    (record) => record.session === session && SPEAKERS.has(record.role ?? ''),
  )
  return session !== undefined && spoken ? 'transcript' : 'facts'
}

interface Rendered {
  readonly record: MemoryRecord
  readonly text: string
}

/** Content stands after `- ` or `ROLE: `, a uri without any after `@ ` or `ROLE @ `; what is cited goes before both. */
function entryOf(record: MemoryRecord, layout: Layout, cite: boolean): Rendered[] {
  const { content, uri } = record
  const who = layout === 'transcript' ? speaker(record.role) : ''
  if (content.trim() !== '') {
    const mark = cite ? `[${shown(uri ?? record.key ?? '')}]` : ''
    const head = layout === 'facts' ? `-${mark && ` ${mark}`}` : `${who}${mark && ` ${mark}`}:`
    return [{ record, text: `${head} ${indented(content)}` }]
  }
  if (uri === undefined) return []
  const type = record.media_type === undefined ? '' : ` (${shown(record.media_type)})`
  return [{ record, text: `${who && `${who} `}@ ${shown(uri)}${type}` }]
}

const PLAIN_ROLE = /^[\p{L}\p{N}][\p{L}\p{N}_.-]{0,63}$/u

function speaker(role: string | undefined): string {
  if (role === undefined) return '(no role)'
  return PLAIN_ROLE.test(role) ? role : quoted(role)
}

const PLAIN = /^[^\s"()[\]\p{C}]*$/u

/** As it is where nothing of it could be taken for something else, and as a JSON string otherwise. */
function shown(text: string): string {
  return PLAIN.test(text) ? text : quoted(text)
}

/** What some reader takes for the end of a line. */
const LINE_BREAK = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/g

function quoted(text: string): string {
  return JSON.stringify(text).replace(LINE_BREAK, (breaks) =>
    [...breaks].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
  )
}

function indented(content: string): string {
  return content.replace(LINE_BREAK, '\n  ')
}

/**
 * The entries that the budget has room for, all in one piece with the line breaks between them: those at the far end go, and so
 * does one that is too long even alone.
 */
function withinBudget(
  entries: readonly Rendered[],
  budget: number,
  excess: 'drop first' | 'drop last',
): readonly Rendered[] {
  if (budget === Infinity) return entries
  const sized = entries.map((entry) => ({ entry, size: codePoints(entry.text) }))
  const possible = sized.filter(({ size }) => size <= budget)
  const keptFirst = excess === 'drop last' ? possible : possible.reverse()
  const kept: Rendered[] = []
  let used = -1
  for (const { entry, size } of keptFirst) {
    used += size + 1
    if (used > budget) break
    kept.push(entry)
  }
  return excess === 'drop last' ? kept : kept.reverse()
}

/** A tool's result without the call that it answers makes a transcript that models refuse (§3.4). */
function withoutBrokenGroups(
  kept: readonly Rendered[],
  all: readonly MemoryRecord[],
): readonly Rendered[] {
  const groupOf = ({ owner, group }: MemoryRecord) =>
    group === undefined ? undefined : JSON.stringify([owner, group])
  const there = new Set(kept.map(({ record }) => record))
  const gone = all.filter((record) => !there.has(record) && hasSomething(record))
  const broken = new Set(gone.map(groupOf))
  broken.delete(undefined)
  return kept.filter(({ record }) => !broken.has(groupOf(record)))
}

function hasSomething({ content, uri }: MemoryRecord): boolean {
  return content.trim() !== '' || uri !== undefined
}
