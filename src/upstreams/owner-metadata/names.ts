import { createHash } from 'node:crypto'

/** An owner is written out up to so many characters; of a longer one it is the digest. */
const LONGEST = 64
const UNSAFE = /[^a-z0-9_.@-]/gu
const QUALIFIED = /^(?:n|o\.[a-z0-9_.@~-]+|h\.[0-9a-f]{64})\//

/**
 * How the ids, keys, sessions and groups of one owner are called at an upstream that knows no owners: below a first part that no
 * other owner has. Keys stay paths, so that all of an owner are at or beneath one prefix.
 */
export class Names {
  readonly #prefix: string

  /** Null is for records without an owner. */
  constructor(owner: string | null) {
    this.#prefix = `${qualifierOf(owner)}/`
  }

  qualify(text: string): string {
    return this.#prefix + text
  }

  /** What `qualify` was given; undefined where it is no name of this owner's. */
  restore(text: string): string | undefined {
    return text.startsWith(this.#prefix) ? text.slice(this.#prefix.length) : undefined
  }
}

/** Whether a text is the name of somebody's, as they are made here. */
export function isQualified(text: string): boolean {
  return QUALIFIED.test(text)
}

/** What of a name is after whose it is; a text that is none stays as it is. */
export function unqualified(text: string): string {
  return isQualified(text) ? text.slice(text.indexOf('/') + 1) : text
}

/**
 * Different for any two owners, without a slash, at most 66 characters of lower-case ASCII: a store that folds case or normalises
 * Unicode still tells them apart.
 */
function qualifierOf(owner: string | null): string {
  if (owner === null) return 'n'
  const safe = owner.replace(UNSAFE, (char) => `~${char.codePointAt(0)?.toString(16)}~`)
  if (safe.length <= LONGEST) return `o.${safe}`
  return `h.${createHash('sha256').update(safe).digest('hex')}`
}
