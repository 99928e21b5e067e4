import { type Access, accessOf, type RoleDefinitions } from '../protocol/access.js'
import type { AccessOf } from './caller.js'

/**
 * Compiles roles, once for each set of them: callers with the same roles have the very same access, so that what is worked out
 * for one serves all. Undefined definitions let everyone do everything.
 */
export function createAccessOf(definitions: RoleDefinitions | undefined): AccessOf {
  const known = new Map<string, Access>()
  return (roles) => {
    const access = accessOf(roles, definitions)
    if (access === undefined) return undefined
    const name = JSON.stringify(access.map(({ role }) => role))
    const before = known.get(name)
    if (before === undefined) known.set(name, access)
    return before ?? access
  }
}
