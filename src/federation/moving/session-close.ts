import { NOTHING_REORGANISED } from '../../events/changes.js'
import type { Context } from '../../protocol/memory.js'
import type { ParamsOf, ResultOf } from '../../protocol/methods.js'
import { type Owner, ownerOf } from '../../protocol/scope.js'
import { identityOf } from '../../upstreams/translate.js'
import type { TierLayout } from '../layout.js'
import { holder, type Located, listAll, refuseClipped, refuseSilence, shownIds } from '../locate.js'
import type { Handler, Parts } from '../parts.js'
import { tierNamed } from '../plan.js'
import { unstoppable } from '../writing/writing.js'
import { countsOf, orUnknown, type Reorganisation, reachOf, reorganise } from './consolidate.js'
import { moveKeys } from './promote.js'
import { relocate } from './relocate.js'
import { Tally } from './tally.js'

/**
 * Ends a conversation (§4.11): its records, each with its whole group, leave the working tier for where that spills to, and the
 * tiers below then apply their own rules. A session that nobody has is none to close, and nothing is written for it.
 */
export const closeSession: Handler<
  ParamsOf<'memory/session/close'>,
  ResultOf<'memory/session/close'>
> = (parts, params, context) => {
  const owner = ownerOf(params)
  const { session } = params
  return parts.locks.run(moveKeys(owner), context, async () => {
    await parts.uses.settled(owner)
    const members = await membersOf(parts, session, owner, context)
    const { flushed, tally } = await close(parts, { session, owner, members }, context)
    const counts = await countsOf(parts, owner, context)
    return { ...tally.total(), counts, closed: session, flushed }
  })
}

interface Closing {
  readonly session: string
  readonly owner: Owner
  readonly members: readonly Located[]
}

async function membersOf(
  parts: Parts,
  session: string,
  owner: Owner,
  context: Context,
): Promise<readonly Located[]> {
  const wanted = { where: { session }, owner, outline: true }
  const { located, silent, clipped } = await listAll(parts, wanted, context)
  refuseSilence(silent)
  refuseClipped(clipped, 'the session', {})
  return located
}

async function close(
  parts: Parts,
  { session, owner, members }: Closing,
  context: Context,
): Promise<{ readonly flushed: number; readonly tally: Tally }> {
  const tally = new Tally()
  if (members.length === 0) return { flushed: 0, tally }
  const page = parts.chronicle.begin({ kind: 'session_closed', owner, session })
  const { tiers } = parts.layout()
  const working = workingTiers(tiers)
  const below = [...reachOf(working, tiers)].filter((tier) => !working.includes(tier))
  const reorganisation = { tiers: below, owner, page, tally }
  const flushed = await orUnknown(page, async () => {
    const left = await flush(parts, members, { ...reorganisation, tiers: working }, context)
    if (left > 0) await reorganise(parts, reorganisation, context)
    return left
  })
  page.done({ kind: 'session_closed', session, shares: sharesOf(members, tally) })
  return { flushed, tally }
}

/** Those of kind `working`; where no tier says its kind, the first that records leave by themselves. */
function workingTiers(tiers: readonly TierLayout[]): readonly TierLayout[] {
  if (tiers.some(({ kind }) => kind !== undefined)) {
    return tiers.filter(({ kind }) => kind === 'working')
  }
  return tiers.filter(({ spillTo }) => spillTo !== undefined).slice(0, 1)
}

/** Returns how many records have left these tiers; one that spills nowhere keeps its own. */
async function flush(
  parts: Parts,
  members: readonly Located[],
  { tiers, owner, page, tally }: Reorganisation,
  context: Context,
): Promise<number> {
  const moved = new Map<string, Located>()
  for (const { name, spillTo } of tiers) {
    const leaving = members.filter(({ source, record }) => source.writable && record.tier === name)
    const located = leaving.filter(({ record }) => !moved.has(identityOf(record)))
    if (spillTo === undefined || located.length === 0) continue
    const tier = tierNamed(parts.layout(), spillTo)
    await relocate(
      parts,
      { located, tier, owner, stuck: 'stay', part: { page, as: 'moved' }, intent: 'whole' },
      (records) => {
        tally.count(records, 'moved', tier)
        context.touched?.('moved', shownIds(records))
        for (const found of records) moved.set(identityOf(found.record), found)
      },
      unstoppable(context),
    )
  }
  const left = new Set(tiers.map(({ name }) => name))
  return [...moved.values()].filter(({ record }) => left.has(record.tier ?? '')).length
}

/** Whoever has records of the session is told that it is closed, also where none of them moved. */
function sharesOf(members: readonly Located[], tally: Tally) {
  const done = new Map(tally.shares().map((share) => [share.owner, share.part]))
  for (const found of members) {
    const owner = holder(found.record)
    if (!done.has(owner)) done.set(owner, NOTHING_REORGANISED)
    tally.note(found)
  }
  return [...done].map(([owner, part]) => ({
    owner,
    part,
    places: tally.placesOf(owner ?? null),
  }))
}
