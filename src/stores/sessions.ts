import type { ParamsOf, ResultOf } from '../protocol/methods.js'
import { type Owner, ownerOf } from '../protocol/scope.js'
import { formatInstant } from '../protocol/time.js'
import { reorganise, Tally } from './consolidating.js'
import { counts, moveWithGroup } from './moving.js'
import type { TierOption } from './options.js'
import type { Row } from './rows.js'
import type { SessionPart } from './sessions-table.js'
import type { Shelf } from './shelf.js'
import { reachOf } from './tiers.js'

type Listed = ResultOf<'memory/session/list'>['sessions'][number]

/** The sessions of an owner (§4.10), in the order in which they were opened. Records without a session are in none. */
export function listSessions(
  { partitions, sessions }: Shelf,
  params: ParamsOf<'memory/session/list'>,
): ResultOf<'memory/session/list'> {
  const owner = ownerOf(params)
  const [partition] = owner === undefined ? [] : partitions.of(owner)
  const none = partition === undefined ? [] : sessions.of(partition.ownerNo)
  const parts = owner === undefined ? sessions.all() : none
  const bySession = new Map<string, SessionPart[]>()
  for (const part of parts) {
    const others = bySession.get(part.session)
    if (others === undefined) bySession.set(part.session, [part])
    else others.push(part)
  }
  return { sessions: [...bySession.values()].toSorted(byOpening).map(listed) }
}

function byOpening(left: readonly SessionPart[], right: readonly SessionPart[]): number {
  return openedOf(left) - openedOf(right)
}

function openedOf(parts: readonly SessionPart[]): number {
  return Math.min(...parts.map(({ opened }) => opened))
}

function listed(parts: readonly SessionPart[]): Listed {
  const tiers = new Map<string, number>()
  for (const { tier, records } of parts) tiers.set(tier, (tiers.get(tier) ?? 0) + records)
  return {
    session: parts[0]?.session ?? '',
    records: parts.reduce((sum, { records }) => sum + records, 0),
    tiers: Object.fromEntries(tiers),
    opened_at: formatInstant(openedOf(parts)),
    touched_at: formatInstant(Math.max(...parts.map(({ touched }) => touched))),
  }
}

/**
 * Ends a conversation (§4.11): its records, each with its group, leave the tiers of kind `working` for where those spill to, and the tiers
 * below then apply their own rules. Nothing is deleted; a session that is not there is none to close.
 */
export function closeSession(
  shelf: Shelf,
  params: ParamsOf<'memory/session/close'>,
): ResultOf<'memory/session/close'> {
  const { session } = params
  const tally = new Tally()
  let flushed = 0
  for (const [ownerNo, owner] of ownersOf(shelf, ownerOf(params))) {
    const rows = shelf.records.inSession(session, ownerNo, Infinity).toReversed()
    if (rows.length > 0) flushed += close(shelf, rows, { owner, tally })
  }
  shelf.tell(() => ({ kind: 'session_closed', session, shares: tally.shares() ?? [] }))
  return { ...tally.total(), counts: counts(shelf, params), closed: session, flushed }
}

function ownersOf({ partitions }: Shelf, owner: Owner): ReadonlyMap<number, string | null> {
  return new Map(partitions.of(owner).map((partition) => [partition.ownerNo, partition.owner]))
}

interface Closing {
  readonly owner: string | null
  readonly tally: Tally
}

/** Returns how many records left the working tiers. */
function close(shelf: Shelf, rows: readonly Row[], closing: Closing): number {
  const working = shelf.tiers.filter(
    ({ kind, spill_to }) => kind === 'working' && spill_to !== undefined,
  )
  closing.tally.add(closing.owner, {})
  const flushed = working.reduce((sum, tier) => sum + flush(shelf, rows, { ...closing, tier }), 0)
  if (flushed > 0) {
    const below = new Set(working.flatMap((tier) => [...reachOf(tier, shelf.tiers)]))
    for (const tier of working) below.delete(tier)
    reorganise(shelf, { ...closing, tiers: [...below] })
  }
  return flushed
}

function flush(
  shelf: Shelf,
  rows: readonly Row[],
  { owner, tally, tier }: Closing & { readonly tier: TierOption },
): number {
  const from = shelf.partitions.of(owner).find((partition) => partition.tier === tier.name)
  const settled = new Set<number>()
  let flushed = 0
  for (const row of rows) {
    if (row.partitionNo !== from?.no || settled.has(row.seq)) continue
    const moved = moveWithGroup(shelf, row, { tier: tier.spill_to ?? '', settled })
    flushed += moved.filter(({ partitionNo }) => partitionNo === from.no).length
    tally.add(owner, { moved: moved.length })
  }
  return flushed
}
