import { copyWith } from '../../protocol/copy.js'
import { A2mError, Fault, invalidParams } from '../../protocol/errors.js'
import type { Context } from '../../protocol/memory.js'
import type { ParamsOf, ResultOf } from '../../protocol/methods.js'
import type { Entry } from '../../protocol/records.js'
import { ownersIn } from '../reserved.js'
import { NAMED } from './admission.js'
import { rawById } from './looking.js'
import type { MixedMemory } from './mixed-memory.js'
import { Names } from './names.js'
import { stamp, unstamp } from './stamp.js'

type Params = ParamsOf<'memory/remember'>

/** An entry as the upstream is told it, and whose it is. */
interface Sent {
  readonly entry: Entry & { readonly id: string }
  readonly owner: string | null
  readonly names: Names
}

/** Writes records under names of their owners, with the owner in reserved metadata. The first of a run is read back. */
export async function remember(
  mixed: MixedMemory,
  params: Params,
  { newId, context }: { readonly newId: () => string; readonly context: Context },
): Promise<ResultOf<'memory/remember'>> {
  // A write of nothing asks whether it takes any.
  if (params.records.length === 0) return mixed.inner.call('memory/remember', params, context)
  if (mixed.metadata === 'dropped') throw dropsMetadata()
  const sent = params.records.map((entry, index) => sentAs(entry, { params, index, newId }))
  const records = sent.map(({ entry }) => entry)
  const { ids } = await mixed.inner.call('memory/remember', { records }, context)
  const restored = ids.map((id, index) => idHere(id, sent[index]))
  if (mixed.metadata === 'untried') await tryMetadata(mixed, { sent, ids }, context)
  return { ids: restored }
}

interface Place {
  readonly params: Params
  readonly index: number
  readonly newId: () => string
}

function sentAs(given: Entry, { params, index, newId }: Place): Sent {
  const name = ownersIn(given.metadata?.value())
  if (name !== undefined) {
    throw invalidParams(`records[${index}].metadata: the name "${name}" in metadata is reserved`)
  }
  const owner = given.owner ?? params.owner ?? null
  const names = new Names(owner)
  const id = given.id ?? newId()
  const session = given.session ?? params.session
  const entry = copyWith(given, { id, session, owner: undefined })
  for (const field of NAMED) {
    const text = entry[field]
    if (text !== undefined) entry[field] = names.qualify(text)
  }
  entry.metadata = stamp(given.metadata, owner)
  return { entry, owner, names }
}

/** Only an entry with a key may have got another id than its own: that of the record there, which must be its owner's. */
function idHere(id: string, sent: Sent | undefined): string {
  const restored = sent?.names.restore(id)
  if (restored !== undefined) return restored
  throw new Fault('bad_reply', 'it answered with the id of a record that is not the owner’s')
}

interface Written {
  readonly sent: readonly Sent[]
  readonly ids: readonly string[]
}

/** What cannot be read now is tried at the next write. Without its metadata nobody could ever read a record: it is taken back. */
async function tryMetadata(
  mixed: MixedMemory,
  { sent, ids }: Written,
  context: Context,
): Promise<void> {
  const [id = ''] = ids
  const kept = await orUndefined(rawById(mixed, [id], context))
  const record = kept?.find((raw) => raw.id === id)
  if (record === undefined) return
  const told = unstamp(record.metadata)
  if (typeof told !== 'string' && told.owner === sent[0]?.owner) {
    mixed.metadata = 'kept'
    return
  }
  mixed.metadata = 'dropped'
  mixed.blame('untrue_capability', 1)
  const made = sent.flatMap(({ entry }, index) => (ids[index] === entry.id ? [entry.id] : []))
  await orUndefined(mixed.inner.call('memory/forget', { ids: made }, context))
  throw dropsMetadata()
}

async function orUndefined<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked
  } catch (thrown) {
    if (thrown instanceof A2mError || thrown instanceof Fault) return undefined
    throw thrown
  }
}

function dropsMetadata(): A2mError {
  return new A2mError(
    'INTERNAL_ERROR',
    'it does not keep metadata, so that nobody could tell whose a record is (owner: metadata); nothing is written there',
  )
}
