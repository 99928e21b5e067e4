import { copyWith } from '../../protocol/copy.js'
import type { JsonText } from '../../protocol/json.js'
import type { MemoryRecord } from '../../protocol/records.js'
import type { Owner } from '../../protocol/scope.js'
import { isQualified, Names } from './names.js'
import { Unstamper, unstamp } from './stamp.js'

/** Fields that are called otherwise at the upstream. */
export const NAMED = ['id', 'key', 'session', 'group'] as const
const BESIDE_ID = ['key', 'session', 'group'] as const

/** Lets in the records of whom a call is about, as their owner knows them; whatever the upstream says of them. */
export type Admit = <R extends MemoryRecord>(raw: R) => R | undefined

/** Who is let in: one owner's records, those without an owner that were written through here (null), or everybody's. */
export function admitting(owner: Owner): Admit {
  if (owner === undefined) return anybodys
  const names = new Names(owner)
  const unstamper = new Unstamper(owner)
  return (raw) => {
    const metadata = unstamper.read(raw.metadata, owner)
    return metadata === 'foreign' ? undefined : restored(raw, { owner, names, metadata })
  }
}

/** Each is restored as its own owner's. What says nothing of an owner was there before, and has none. */
function anybodys<R extends MemoryRecord>(raw: R): R | undefined {
  if (isEarlier(raw)) return copyWith(raw, { owner: undefined })
  const read = unstamp(raw.metadata)
  if (typeof read === 'string') return undefined
  return restored(raw, { ...read, names: new Names(read.owner) })
}

/** Whether a record was written by others, past the gateway. One with a name of somebody's has lost its owner instead. */
export function isEarlier({ id, metadata }: MemoryRecord): boolean {
  return !isQualified(id) && unstamp(metadata) === 'none'
}

interface Whose {
  readonly owner: string | null
  readonly names: Names
  readonly metadata: JsonText | undefined
}

/** Undefined where it has a name that is not its owner's. */
function restored<R extends MemoryRecord>(
  raw: R,
  { owner, names, metadata }: Whose,
): R | undefined {
  const id = names.restore(raw.id)
  if (!id) return undefined
  const record: R & MemoryRecord = copyWith(raw, { id, owner: owner ?? undefined, metadata })
  for (const field of BESIDE_ID) {
    const text = raw[field]
    if (text === undefined) continue
    const name = names.restore(text)
    if (name === undefined) return undefined
    record[field] = name
  }
  return record
}
