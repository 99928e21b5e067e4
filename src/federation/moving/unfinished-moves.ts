import { A2mError, messageOf } from '../../protocol/errors.js'
import type { Context } from '../../protocol/memory.js'
import type { Owner } from '../../protocol/scope.js'
import type { OpenMove } from '../../state/journal.js'
import { holder, type Located } from '../locate.js'
import type { Parts } from '../parts.js'
import { wanted } from '../writing/prepare.js'
import { resumeMove } from './moves.js'

/** Records that are about to be changed or moved; an owner of undefined is everybody. */
interface Concerned {
  readonly owner: Owner
  readonly ids: readonly string[]
}

function openMovesOf({ journal }: Parts, { owner, ids }: Concerned): OpenMove[] {
  const among = new Set(ids)
  return journal
    .openMoves()
    .filter((move) => owner === undefined || move.owner === owner)
    .filter((move) => move.ids.some((id) => among.has(id)))
}

/**
 * Finishes the moves that these records were left in: recovery would otherwise finish them later, and with that undo whatever
 * had been done to the records in between. Whoever calls holds the moves of the owner (`moveKeys`), so that none of them is under
 * way. Where one cannot be finished now it is an error with `not_sent`.
 */
export async function finishMoves(
  parts: Parts,
  concerned: Concerned,
  context: Context,
): Promise<void> {
  for (const open of openMovesOf(parts, concerned)) await finish(parts, open, context)
}

async function finish(parts: Parts, open: OpenMove, context: Context): Promise<void> {
  let reason = 'one of them cannot be used'
  try {
    if (await resumeMove(parts, open, context)) return
  } catch (thrown) {
    reason = messageOf(thrown)
  }
  throw unfinished(`its move from ${open.from} to ${open.to} is not finished: ${reason}`)
}

/** The error of what was not done since a record is on its way. */
export function unfinished(reason: string): A2mError {
  return new A2mError('INTERNAL_ERROR', `nothing was done, since ${reason}`, {
    outcome: 'not_sent',
  })
}

/** Tells records that are in a move which has begun and not ended. */
export function onTheirWay({ journal }: Parts): (found: Located) => boolean {
  const open = journal.openMoves()
  const names = new Set(open.flatMap(({ owner, ids }) => ids.map((id) => wanted(owner, id))))
  return ({ record }) => names.size > 0 && names.has(wanted(holder(record), record.id))
}
