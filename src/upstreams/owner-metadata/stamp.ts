import { JsonText } from '../../protocol/json.js'
import { withMember, withoutMember } from '../../protocol/members.js'
import { EMPTY_MEMBER, OWNER_MEMBER } from '../reserved.js'

/** The value by which `where` finds the records of an owner, or those without one. */
export function stampOf(owner: string | null): string {
  return owner === null ? '-' : `=${owner}`
}

/** A value that no record has. */
export const NOBODYS = '?'

/** The owner that a value stands for; undefined where it was not made here. */
function ownerOf(stamp: unknown): string | null | undefined {
  if (stamp === '-') return null
  if (typeof stamp !== 'string' || stamp.length < 2 || !stamp.startsWith('=')) return undefined
  return stamp.slice(1)
}

/** Metadata that also says whose the record is; the rest of it stays to the letter. */
export function stamp(metadata: JsonText | undefined, owner: string | null): JsonText {
  const told = withMember(metadata, OWNER_MEMBER, stampOf(owner))
  const empty = metadata !== undefined && metadata.text.slice(1, -1).trim() === ''
  return empty ? withMember(told, EMPTY_MEMBER, true) : told
}

/** Metadata as its writer gave it, and whose record it is of. */
export interface Unstamped {
  readonly owner: string | null
  readonly metadata: JsonText | undefined
}

/** Reads what `stamp` made. `none`: it says nothing of an owner. `malformed`: nothing that was written here. */
export function unstamp(metadata: JsonText | undefined): Unstamped | 'none' | 'malformed' {
  if (metadata === undefined || !metadata.text.includes(OWNER_MEMBER)) return 'none'
  const { value, rest } = withoutMember(metadata, OWNER_MEMBER)
  if (value === undefined) return 'none'
  const owner = ownerOf(value)
  if (owner === undefined) return 'malformed'
  if (!rest?.text.includes(EMPTY_MEMBER)) return { owner, metadata: rest }
  const { value: empty, rest: left } = withoutMember(rest, EMPTY_MEMBER)
  return { owner, metadata: empty === true ? (left ?? new JsonText('{}')) : rest }
}

/** Begins every text in which the owner is said and may be said once more, or other than plainly. */
const DOUBTFUL = OWNER_MEMBER.slice(0, OWNER_MEMBER.lastIndexOf('-') + 1)

/** Reads the stamp of one owner, at a fraction of the cost where the text is as it was written. */
export class Unstamper {
  readonly #head: string

  constructor(owner: string | null) {
    this.#head = stamp(undefined, owner).text.slice(0, -1)
  }

  /** The metadata; `foreign` where it says another owner, or none. */
  read(metadata: JsonText | undefined, owner: string | null): JsonText | undefined | 'foreign' {
    const text = metadata?.text ?? ''
    const { length } = this.#head
    if (text.startsWith(this.#head) && text.indexOf(DOUBTFUL, length) < 0) {
      if (text.length === length + 1) return undefined
      if (text[length] === ',') return new JsonText(`{${text.slice(length + 1)}`)
    }
    const read = unstamp(metadata)
    return typeof read === 'string' || read.owner !== owner ? 'foreign' : read.metadata
  }
}
