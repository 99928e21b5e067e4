import { copyWith } from '../protocol/copy.js'
import { A2mError, Fault, invalidParams } from '../protocol/errors.js'
import { EXTENSION } from '../protocol/extension.js'
import { JsonText } from '../protocol/json.js'
import type { Context, Memory } from '../protocol/memory.js'
import type { ParamsOf, ResultOf } from '../protocol/methods.js'
import type { MemoryRecord } from '../protocol/records.js'
import { type Owner, ownerOf } from '../protocol/scope.js'
import { byInstant } from './by-instant.js'
import { overriding } from './overriding.js'
import type { Source, Summarizer, Summary } from './summarizer.js'
import { select } from './summary-selection.js'

export interface SummaryOptions {
  readonly summarizer: Summarizer
  /** The tiers that a summary can be written into, as this caller would name them. */
  readonly tiers: (context: Context) => Promise<readonly string[]>
  /** In code points: no longer content is taken. */
  readonly longestContent: () => number
}

type Params = ParamsOf<'memory/summarize'>
type Result = ResultOf<'memory/summarize'>

/** The name in a summary's metadata under which it says what it was made from: `of` (ids), `read` (how many records) and `method`. */
const PROVENANCE = 'a2m_summary'

/** Makes summaries of what the memory within holds and writes each back as one record; what it was made from stays (§4.15). */
export function withSummaries(inner: Memory, options: SummaryOptions): Memory {
  const { model } = options.summarizer
  return overriding(inner, {
    'memory/describe': async (params, context) =>
      copyWith(await inner.call('memory/describe', params, context), { summarize: { model } }),
    'memory/summarize': (params, context) => summarize({ inner, options, params, context }),
  })
}

interface Work {
  readonly inner: Memory
  readonly options: SummaryOptions
  readonly params: Params
  readonly context: Context
}

async function summarize(work: Work): Promise<Result> {
  const { inner, options, params, context } = work
  const { summarizer, longestContent } = options
  await refuseUnknownTier(work)
  const selected = await select(inner, params, context)
  const owner = ownerOfAll(selected, ownerOf(params))
  const taken = within(selected, summarizer.input, params.query?.trim() ? 'relevance' : 'creation')
  const sources = byInstant(taken).filter(({ content }) => content.trim() !== '')
  const bounds = { longest: longestContent(), context }
  const summary = await summarizer.summarize(sources.map(sourceOf), bounds)
  const read = taken.length
  if (summary === undefined) return { records: [], read, written: 0 }
  if (context.cancellation.cancelled) throw new Fault('cancelled', 'the caller left', 'not_sent')
  return { records: [await write(work, { summary, owner, read })], read, written: 1 }
}

async function refuseUnknownTier({ options, params, context }: Work): Promise<void> {
  const { into } = params
  if (into === undefined || (await options.tiers(context)).includes(into)) return
  throw new A2mError('UNKNOWN_TIER', `into: there is no tier ${JSON.stringify(into)}`, {
    tier: into,
  })
}

/** A summary of one owner's records is that owner's; none is made of several owners' together. */
function ownerOfAll(records: readonly MemoryRecord[], named: Owner): string | undefined {
  if (named !== undefined) return named ?? undefined
  const owners = new Set(records.map(({ owner }) => owner))
  if (owners.size <= 1) return records[0]?.owner
  throw invalidParams('owner: the records belong to several owners; name the one that is meant')
}

/** As many whole records as there is room for: the oldest are left out, or the least relevant. */
function within(
  records: readonly MemoryRecord[],
  room: number,
  order: 'relevance' | 'creation',
): readonly MemoryRecord[] {
  const mostWantedFirst = order === 'relevance' ? records : records.toReversed()
  let used = 0
  return mostWantedFirst.filter(({ content }) => {
    used += content.length
    return used <= room
  })
}

function sourceOf({ id, content, role, created_at }: MemoryRecord): Source {
  return { id, content, role, created_at }
}

interface Writing {
  readonly summary: Summary
  readonly owner: string | undefined
  readonly read: number
}

async function write(work: Work, { summary, owner, read }: Writing): Promise<MemoryRecord> {
  const { inner, options, params, context } = work
  const { into, key } = params
  const method = options.summarizer.model ?? 'extractive'
  const record = {
    content: summary.content,
    role: 'memory',
    metadata: JsonText.of({ [PROVENANCE]: { of: summary.of, read, method } }),
    owner,
    ...(into === undefined ? {} : { tier: into }),
    ...(key === undefined ? {} : { key }),
  }
  const { ids } = await inner.call('memory/remember', { records: [record] }, context)
  return readBack(work, ids[0] ?? '', owner)
}

async function readBack(
  { inner, params, context }: Work,
  id: string,
  owner: string | undefined,
): Promise<MemoryRecord> {
  const whose =
    owner === undefined
      ? { [EXTENSION]: { ...params[EXTENSION], owner: null } }
      : { owner, [EXTENSION]: params[EXTENSION] }
  const reading = { where: { id }, limit: 1, partial: false, ...whose }
  const { records } = await inner.call('memory/timeline', reading, context)
  const [record] = records
  if (record !== undefined) return record
  throw new A2mError('INTERNAL_ERROR', `the summary was written as ${id} and is gone already`, {
    id,
  })
}
