import { z } from 'zod'
import type { Carried } from '../../protocol/extension.js'
import { print } from '../../protocol/json.js'
import { parse } from '../../protocol/json-parse.js'
import type { Context } from '../../protocol/memory.js'
import { type Entry, entrySchema } from '../../protocol/records.js'
import type { Replaced } from '../../state/journal.js'
import { type Address, addressOf, findKeys } from '../keys.js'
import type { Located } from '../locate.js'
import type { Parts } from '../parts.js'
import type { Placed, Slot } from './placing.js'
import { isWritten } from './read-back.js'
import { send } from './writing.js'

/** What the journal needs to put back what stood at a key. `last` is the last entry that is written over it. */
export function replacedBy(slot: Slot, held: Located, last: Placed): Replaced {
  return {
    key: slot.key,
    before: print({ record: entryOf(held) }),
    carried: carriedOf(held),
    content: last.entry.content,
    revision: last.revision,
  }
}

/** A record as the entry that would write it. */
function entryOf({ record }: Located): object {
  const {
    id: _,
    score: __,
    created_at: ___,
    accessed_at: ____,
    access_count: _____,
    revision: ______,
    ...entry
  } = record
  return entry
}

/** Where the upstream knows the extension it is told all; elsewhere the record had it in reserved metadata, or needs none. */
function carriedOf({ source, record, at, carried }: Located): Carried | undefined {
  if (!source.profile.extended) return carried
  const { accessed_at, access_count } = record
  return {
    created_at: at,
    ...(accessed_at === undefined ? {} : { accessed_at }),
    ...(access_count === undefined ? {} : { access_count }),
  }
}

const beforeSchema = z.object({ record: entrySchema })

/** `left`: what the write put there is gone or has been rewritten since, so that there is nothing to put back. */
export type PutBack = 'put_back' | 'left' | 'failed'

/**
 * Writes the old content to a key again, wherever its record is now, if what stands there is still what the write put there. The
 * record keeps its id; its revision rises once more, since it never falls.
 */
export async function putBack(
  parts: Parts,
  owner: string | null,
  replaced: Replaced,
  context: Context,
): Promise<PutBack> {
  const address: Address = { owner, key: replaced.key }
  const look = { embeddings: false, quiet: true }
  const { held, silent } = await findKeys(parts, [address], look, context)
  const found = held.get(addressOf(address))
  if (found === undefined) return silent.length > 0 ? 'failed' : 'left'
  const wrote = { entry: { content: replaced.content }, revision: replaced.revision }
  if (!found.source.writable || !isWritten(found.record, wrote)) return 'left'
  const entry = { ...beforeOf(replaced), id: parts.newId(), tier: found.record.tier }
  const item = { entry, carried: replaced.carried }
  const sent = await send(parts, found.source, [item], context)
  return sent.state === 'done' ? 'put_back' : 'failed'
}

function beforeOf({ before }: Replaced): Entry {
  return beforeSchema.parse(parse(before, 'lenient')).record
}
