import { denied } from '../../protocol/access-denied.js'
import { A2mError, Fault } from '../../protocol/errors.js'
import type { Context } from '../../protocol/memory.js'
import type { ParamsOf, ResultOf } from '../../protocol/methods.js'
import { afterBringing, type Brought, bring } from '../moving/bring.js'
import { moveKeys } from '../moving/promote.js'
import { whyBound } from '../moving/relocate.js'
import { finishMoves, onTheirWay } from '../moving/unfinished-moves.js'
import type { Handler, Parts } from '../parts.js'
import { idLock, keyLock } from '../record-locks.js'
import { existing } from './existing.js'
import {
  type Answered,
  byOwner,
  type Placed,
  type Placement,
  place,
  placeNew,
  recordsOf,
  type Slot,
  whose,
} from './placing.js'
import { type Prepared, prepareAll } from './prepare.js'
import { writeAll } from './write-all.js'
import { unstoppable } from './writing.js'

type Result = ResultOf<'memory/remember'>

/** How often a record may be moved away by others before it could be rewritten. */
const MOST_TURNS = 10

/**
 * Writes a batch: everything is checked first, then it is split by destination and applied in order. An id that exists anywhere is
 * returned and nothing is written for it (§3.2). A key that is occupied is rewritten where its record lives (§3.6), once that is in
 * the tier that the write names.
 */
export const remember: Handler<ParamsOf<'memory/remember'>, Result> = async (
  parts,
  params,
  context,
) => {
  const prepared = prepareAll(parts, params)
  if (!prepared.some(isAddressed)) return carryOut(parts.whole, placeNew(prepared), context)
  const brought: Brought[] = []
  try {
    for (let turn = 0; turn < MOST_TURNS; turn++) {
      const end = await inTurn(parts, prepared, context)
      if ('ids' in end) return end
      await settle(parts.whole, end.moving, context)
      await bring(parts, end.moves, brought, unstoppable(context))
    }
    throw new Fault('busy', 'what stands at the keys is moved by others again and again')
  } catch (thrown) {
    throw await afterBringing(parts, brought, thrown, unstoppable(context))
  }
}

/** Whether something of that name may exist already. */
function isAddressed({ named, entry }: Prepared): boolean {
  return named || entry.key !== undefined
}

/** What has to be done before records at keys can be rewritten. */
interface First {
  /** They were left in a move, which has to be finished. */
  readonly moving: readonly Slot[]
  /** They have to go to another tier. */
  readonly moves: readonly Slot[]
}

/** Looks up and writes while nobody else does at the same ids and keys; or tells what has to be done first. */
function inTurn(
  parts: Parts,
  prepared: readonly Prepared[],
  context: Context,
): Promise<Result | First> {
  return parts.locks.run(prepared.flatMap(locksOf), context, async () => {
    const placement = place(parts, prepared, await existing(parts, prepared, context))
    const { moving, moves } = toDoFirst(parts, placement)
    if (moving.length > 0) return { moving, moves: [] }
    refuseMoves(parts, moves)
    return moves.length > 0 ? { moving, moves } : carryOut(parts.whole, placement, context)
  })
}

/** All of them are looked at before the first is made. */
function refuseMoves(parts: Parts, moves: readonly Slot[]): void {
  for (const { held, goesTo, path, key } of moves) {
    if (held === undefined || goesTo === undefined) continue
    if (whyBound(parts, held, goesTo) !== undefined) throw denied({ path, tier: goesTo.name, key })
  }
}

function toDoFirst(parts: Parts, { held, moves }: Placement): First {
  const onWay = held.length === 0 ? () => false : onTheirWay(parts)
  return { moving: held.filter((slot) => slot.held && onWay(slot.held)), moves }
}

async function settle(parts: Parts, slots: readonly Slot[], context: Context): Promise<void> {
  for (const { owner, id } of slots) {
    await parts.locks.run(moveKeys(owner), context, () =>
      finishMoves(parts, { owner, ids: [id] }, unstoppable(context)),
    )
  }
}

function locksOf(item: Prepared): string[] {
  const owner = whose(item)
  const { id, key } = item.entry
  const ids = item.named ? [idLock(owner, id)] : []
  return key === undefined ? ids : [...ids, keyLock(owner, key)]
}

async function carryOut(parts: Parts, placement: Placement, context: Context): Promise<Result> {
  const { items, outcomes } = placement
  const answered = items.length === 0 ? NONE : await told(parts, items, unstoppable(context))
  learn(parts, items)
  tellExisting(placement, context)
  const ids = outcomes.map((outcome) =>
    typeof outcome === 'string' ? outcome : (answered.get(outcome) ?? outcome.entry.id),
  )
  return { ids }
}

/** What writes nothing is for nobody to be charged for. */
function tellExisting({ items, outcomes }: Placement, { existed }: Context): void {
  if (existed === undefined || items.length === outcomes.length) return
  existed(outcomes.flatMap((outcome, place) => (typeof outcome === 'string' ? [place] : [])))
}

const NONE: ReadonlyMap<Placed, string> = new Map()

/** Writes, with a page of the chronicle open meanwhile. */
async function told(
  parts: Parts,
  items: readonly Placed[],
  context: Context,
): Promise<ReadonlyMap<Placed, string>> {
  const expected = recordsOf(items, NONE)
  const page = parts.chronicle.begin({ kind: 'written', records: expected })
  let answered: Answered
  try {
    answered = await writeAll(parts, items, context)
  } catch (thrown) {
    if (leavesNothing(thrown)) page.done()
    else page.unknown()
    throw thrown
  }
  const records = answered.size === 0 ? expected : recordsOf(items, answered)
  page.done({ kind: 'written', records })
  return answered
}

/** What remains, was put back at a higher revision, or may have been written is for recovery to look at. */
function leavesNothing(thrown: unknown): boolean {
  if (!(thrown instanceof A2mError)) return false
  const { outcome, remaining = [], put_back } = thrown.data ?? {}
  const none = Array.isArray(remaining) && remaining.length === 0
  return (outcome === 'refused' || outcome === 'not_sent') && none && put_back === undefined
}

function learn(parts: Parts, items: readonly Placed[]): void {
  for (const [owner, group] of byOwner(items)) {
    parts.lexical.learn(
      owner,
      group.map(({ entry }) => entry.content),
    )
  }
}
