import { z } from 'zod'
import type { LoggedEvent } from '../../events/log.js'
import type { Context } from '../../protocol/memory.js'
import type { Owner } from '../../protocol/scope.js'
import type { OpenIntent } from '../../state/book.js'
import { grouped } from '../grouping.js'
import { holder, type Located, locate } from '../locate.js'
import type { Parts } from '../parts.js'
import type { Change, Intent, WrittenRecord } from './chronicle.js'

/** What has not happened by then, in ms since it was begun, never will: no upstream works on a call for so long. */
const PATIENCE = 60_000

const text = z.string().optional()
const ownerSchema = z.string().nullable()
const idShares = z.array(z.object({ owner: ownerSchema.optional(), part: z.array(z.string()) }))
const intentSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('written'),
    records: z.array(
      z.object({
        id: z.string(),
        owner: ownerSchema,
        tier: text,
        session: text,
        key: text,
        revision: z.int().optional(),
      }),
    ),
  }),
  z.object({ kind: z.enum(['forgotten', 'promoted']), ids: idShares, tier: text }),
  z.object({ kind: z.literal('consolidated'), owner: ownerSchema.optional() }),
  z.object({
    kind: z.literal('session_closed'),
    owner: ownerSchema.optional(),
    session: z.string(),
  }),
])
type Stored = z.output<typeof intentSchema>
type IdsIntent = Extract<Stored, { kind: 'forgotten' | 'promoted' }>
type Reorganising = Extract<Stored, { kind: 'consolidated' | 'session_closed' }>

/** What can be told of an intent by now; without `rest` that is all there will ever be. */
interface Findings {
  readonly changes: readonly Change[]
  readonly rest?: Intent
  /** An upstream that must be asked is silent, or a part of it is not finished. */
  readonly blocked?: boolean
}

interface Looking {
  readonly parts: Parts
  readonly open: OpenIntent
  readonly context: Context
  /** When this run of the gateway began, in ms of wall time. */
  readonly since: number
}

/**
 * Tells what an intent that nobody ended has come to. False where that cannot be found out yet. What was told of the same
 * records since it began, as by a caller that tried again, is not told twice.
 */
export async function settleIntent(looking: Looking): Promise<boolean> {
  const { parts, open } = looking
  const intent = intentSchema.parse(JSON.parse(open.intent))
  const found = await find(looking, intent)
  if (found.changes.length > 0 || found.rest === undefined) {
    parts.book.end(open.id, found.changes, found.rest && JSON.stringify(found.rest))
    parts.told()
  }
  return found.blocked !== true
}

function find(looking: Looking, intent: Stored): Promise<Findings> | Findings {
  switch (intent.kind) {
    case 'written':
      return findWritten(looking, intent.records.map(whole))
    case 'forgotten':
    case 'promoted':
      return findIds(looking, intent)
    default:
      return findReorganised(looking, intent)
  }
}

type StoredRecord = Extract<Stored, { kind: 'written' }>['records'][number]

function whole({ id, owner, tier, session, key, revision }: StoredRecord): WrittenRecord {
  return { id, owner, tier, session, key, revision }
}

async function findWritten(looking: Looking, records: readonly WrittenRecord[]): Promise<Findings> {
  const seen = await lookUpAll(looking, ownersIds(records))
  if (isUnderWay(looking.parts, new Set(records.map(({ id }) => id)))) {
    return { changes: [], rest: { kind: 'written', records } }
  }
  const verdicts = records.map((record) => judge(looking, record, seen.get(record.owner)))
  const fresh = untold(
    looking,
    verdicts.flatMap(({ found }) => found ?? []),
  )
  const changes: Change[] = fresh.length > 0 ? [{ kind: 'written', records: fresh }] : []
  const rest = records.filter((_, index) => verdicts[index]?.open)
  if (rest.length === 0) return { changes }
  const blocked = verdicts.some(({ silent }) => silent)
  return { changes, blocked, rest: { kind: 'written', records: rest } }
}

interface Verdict {
  readonly found?: WrittenRecord
  /** It may still come through. */
  readonly open?: boolean
  readonly silent?: boolean
}

function judge(looking: Looking, record: WrittenRecord, seen: Seen | undefined): Verdict {
  const found = seen?.here.get(record.id)
  if (found !== undefined && isWritten(record, found)) return { found: asTold(record, found) }
  const silent = seen?.silent === true
  return { open: silent || !isStale(looking), silent }
}

/** Those that no event has told of since the intent began. */
function untold(looking: Looking, records: readonly WrittenRecord[]): WrittenRecord[] {
  const name = ({ id, revision }: Readonly<Record<string, unknown>>) => [nameOf(id, revision)]
  return [...grouped(records, ({ owner }) => owner)].flatMap(([owner, some]) => {
    const told = toldOf(looking, owner, 'written', name)
    return some.filter(({ id, revision }) => !told.has(nameOf(id, revision)))
  })
}

/** A record under a key was there before; its revision says whether this write has come through. */
function isWritten({ revision }: WrittenRecord, { record }: Located): boolean {
  return revision === undefined || record.revision === undefined || record.revision >= revision
}

function asTold({ id, owner }: WrittenRecord, { record, source }: Located): WrittenRecord {
  const { tier, session, key, revision } = record
  return { id, owner, tier, session, key, revision, upstream: source.name }
}

function nameOf(id: unknown, revision: unknown): string {
  return `${String(revision ?? '')} ${String(id)}`
}

/**
 * Records that are still to be taken back, on their way, or in the hands of a call are left until that is over. Asked after they
 * were looked up: whoever has written what was found then is either still at it, or has told it.
 */
function isUnderWay({ journal, chronicle }: Parts, ids: ReadonlySet<string>): boolean {
  if (chronicle.touches(ids)) return true
  const writes = journal.openWrites().flatMap(({ parts }) => parts.flatMap((part) => part.ids))
  const moves = journal.openMoves().flatMap((move) => move.ids)
  return [...writes, ...moves].some((id) => ids.has(id))
}

async function findIds(looking: Looking, intent: IdsIntent): Promise<Findings> {
  const { kind, ids, tier = '' } = intent
  const rest: Intent = { kind, ids: ids.map(({ owner, part }) => ({ owner, part })), tier }
  const found = await lookUpAll(looking, idsByOwner(ids))
  if ([...found.values()].some(({ silent }) => silent)) return { changes: [], rest, blocked: true }
  if (isUnderWay(looking.parts, new Set(ids.flatMap(({ part }) => part)))) {
    return { changes: [], rest }
  }
  const done = ids.map(({ owner, part }) => ({
    owner,
    part: part.filter((id) => isDone(found.get(owner)?.here.get(id), intent)),
  }))
  const complete = done.every(({ part }, index) => part.length === ids[index]?.part.length)
  if (!complete && !isStale(looking)) return { changes: [], rest }
  const shares = done.map(({ owner, part }) => {
    const already = toldOf(looking, owner, kind, namesOf)
    return { owner, part: part.filter((id) => !already.has(id)) }
  })
  return { changes: [kind === 'forgotten' ? { kind, shares } : { kind, tier, shares }] }
}

/** An owner may have a share for each upstream. */
function idsByOwner(shares: IdsIntent['ids']): Map<Owner, readonly string[]> {
  const parted = grouped(shares, ({ owner }) => owner)
  return new Map([...parted].map(([owner, some]) => [owner, some.flatMap(({ part }) => part)]))
}

function isDone(found: Located | undefined, { kind, tier }: IdsIntent): boolean {
  return kind === 'forgotten' ? found === undefined : found?.record.tier === tier
}

function namesOf({ ids }: LoggedEvent): string[] {
  return Array.isArray(ids) ? ids.map(String) : []
}

/** Its parts were noted as they were done; of one that had done nothing there is nothing to tell. */
function findReorganised({ parts, open }: Looking, intent: Reorganising): Findings {
  const moving = parts.journal.openMoves().some(({ cause }) => cause?.intent === open.id)
  if (moving) return { changes: [], rest: { owner: undefined, ...intent }, blocked: true }
  const shares = open.progress
  if (shares.length === 0) return { changes: [] }
  const { kind } = intent
  if (kind === 'consolidated') return { changes: [{ kind, shares }] }
  return { changes: [{ kind, session: intent.session, shares }] }
}

function ownersIds(records: readonly WrittenRecord[]): Map<Owner, string[]> {
  const parted = grouped(records, ({ owner }) => owner)
  return new Map([...parted].map(([owner, some]) => [owner, some.map(({ id }) => id)]))
}

interface Seen {
  readonly here: ReadonlyMap<string, Located>
  readonly silent: boolean
}

async function lookUpAll(
  { parts, context }: Looking,
  wanted: ReadonlyMap<Owner, readonly string[]>,
): Promise<Map<Owner, Seen>> {
  const seen = new Map<Owner, Seen>()
  for (const [owner, ids] of wanted) {
    const { located, silent } = await locate(parts, { ids, owner }, context)
    const own = located.filter(({ record }) => owner === undefined || holder(record) === owner)
    const here = new Map(own.map((found) => [found.record.id, found]))
    seen.set(owner, { here, silent: silent.length > 0 })
  }
  return seen
}

/** What events of a kind have said of an owner's records since the intent began. */
function toldOf(
  { parts, open }: Looking,
  owner: Owner,
  kind: string,
  tell: (event: LoggedEvent) => string[],
): ReadonlySet<string> {
  const told = new Set<string>()
  for (let cursor = open.since, more = true; more; ) {
    const page = parts.book.log.read({ cursor, owner, kinds: [kind], limit: 0 })
    for (const name of page.events.flatMap(tell)) told.add(name)
    cursor = page.cursor
    more = page.more === true
  }
  return told
}

/** What a call of an earlier run has not done at stores that ended with that run will not be done any more. */
function isStale({ parts, open, since }: Looking): boolean {
  const { sources, absent } = parts.layout()
  const ended = sources.every(({ upstream }) => upstream.config.connect.kind === 'store')
  if (open.at < since && ended && absent.size === 0) return true
  return parts.clock.now() - open.at > PATIENCE
}
