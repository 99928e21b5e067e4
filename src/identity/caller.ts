import type { Access } from '../protocol/access.js'
import type { Caller, Scope } from '../protocol/memory.js'

/** Every owner, where an owner is named. */
export const EVERY_OWNER = '*'

/** What roles amount to; undefined where everyone may do everything. */
export type AccessOf = (roles: readonly string[]) => Access

/** Whom a credential stands for. */
export interface Person {
  readonly name: string
  /** An owner, several, or "*" for every owner; an empty list is nobody's and must not come here. */
  readonly owner: string | readonly string[]
  readonly roles: readonly string[]
}

/** Nothing in it is shared with callers of another name but the access, which depends on the roles alone. */
export function callerOf({ name, owner, roles }: Person, accessOf: AccessOf): Caller {
  const scope = scopeOf(owner)
  const access = accessOf(roles)
  return access === undefined ? { name, roles, scope } : { name, roles, scope, access }
}

function scopeOf(owner: Person['owner']): Scope {
  if (owner === EVERY_OWNER) return { kind: 'all' }
  const [first, ...rest] = typeof owner === 'string' ? [owner] : owner
  if (first === undefined) throw new TypeError('a caller without an owner')
  return { kind: 'owners', owners: [first, ...rest] }
}
