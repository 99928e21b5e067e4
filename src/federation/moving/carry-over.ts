import { A2mError } from '../../protocol/errors.js'
import type { Carried } from '../../protocol/extension.js'
import type { Context } from '../../protocol/memory.js'
import { USUAL_SALIENCE } from '../../protocol/salience.js'
import type { Outbound } from '../../upstreams/phrasing.js'
import type { Source } from '../layout.js'
import { type Located, locateAt } from '../locate.js'
import type { Parts } from '../parts.js'
import { lostField } from '../writing/verify.js'
import { erase, journalled, write, writeError } from '../writing/writing.js'
import type { Moving } from './moves.js'

/** The steps of a move after its intent; each may be done again. Returns what arrived. */
export async function carryOver(
  parts: Parts,
  id: string,
  moving: Moving,
  context: Context,
): Promise<Located[]> {
  if (moving.records.length > 0) await handOver(parts, id, moving, context)
  const forgotten = await dropForgotten(parts, id, moving, context)
  journalled('unknown', () => parts.journal.endMove(id, 'arrived'))
  parts.step('ended')
  return moving.records.filter(({ record }) => !forgotten.has(record.id))
}

async function handOver(parts: Parts, id: string, moving: Moving, context: Context): Promise<void> {
  const { from, owner, records } = moving
  await copy(parts, id, moving, context)
  parts.step('copied')
  await verify(parts, id, moving, context)
  parts.step('verified')
  const ids = records.map(({ hereId }) => hereId)
  const { failed } = await erase(parts, from, { ids, owner }, context)
  if (failed !== undefined) throw unfinished(from, moving)
  parts.step('deleted')
}

async function copy(parts: Parts, id: string, moving: Moving, context: Context): Promise<void> {
  const { to, owner, records } = moving
  const items = records.map((found) => outbound(found, moving))
  if (!to.profile.extended) {
    parts.carried.add(
      to.name,
      owner ?? '',
      items.map(({ entry }) => entry.id),
    )
  }
  const written = await write(parts, to, items, context)
  if (written.state === 'done') return
  if (written.outcome !== 'unknown') {
    parts.carried.remove(
      to.name,
      owner ?? '',
      items.map(({ entry }) => entry.id),
    )
    parts.journal.endMove(id, 'undone')
  }
  throw writeError(to, written, {})
}

/** All that is known of a record: as an entry what one can say, beside it what none can. */
function outbound({ record, at }: Located, { tier, salience }: Moving): Outbound {
  const { created_at: _, score: __, accessed_at, access_count, revision, ...rest } = record
  const raised =
    salience === undefined ? {} : { salience: (record.salience ?? USUAL_SALIENCE) + salience }
  const carried: Carried = {
    created_at: at,
    ...(accessed_at === undefined ? {} : { accessed_at }),
    ...(access_count === undefined ? {} : { access_count }),
    ...(revision === undefined ? {} : { revision }),
  }
  return { entry: { ...rest, ...raised, tier }, carried }
}

/** What was written must be there to be read before anything is deleted; otherwise the move is undone. */
async function verify(parts: Parts, id: string, moving: Moving, context: Context): Promise<void> {
  const { to, owner, records } = moving
  const ids = records.map(({ record }) => record.id)
  const { located } = await locateAt(parts, to, { ids, owner }, context)
  const there = new Map(located.map(({ record }) => [record.id, record]))
  const lost = records
    .map(({ record }) => lostField(record, there.get(record.id)))
    .find((field) => field !== undefined)
  if (lost === undefined) return
  const { failed } = await erase(parts, to, { ids, owner }, context)
  if (failed === undefined) parts.journal.endMove(id, 'undone')
  throw new A2mError(
    'INTERNAL_ERROR',
    `${to.name} did not keep what was moved to it (${lost}), so that it stays where it was`,
    { upstream: to.name, field: lost },
  )
}

/** A forget that came in between wins: what it named is deleted at the target too. */
async function dropForgotten(
  parts: Parts,
  id: string,
  { to, owner }: Moving,
  context: Context,
): Promise<ReadonlySet<string>> {
  const forgotten = parts.journal.forgottenOf(id)
  const { failed } = await erase(parts, to, { ids: [...forgotten], owner }, context)
  if (failed !== undefined) throw writeError(to, failed, {})
  return forgotten
}

function unfinished(from: Source, { to }: Moving): A2mError {
  return new A2mError(
    'INTERNAL_ERROR',
    `${from.name} did not confirm that moved records are gone there; the move is finished as soon as it answers`,
    { upstream: from.name, to: to.name },
  )
}
