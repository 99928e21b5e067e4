import { invalidParams } from '../../protocol/errors.js'
import type { Where } from '../../protocol/matches.js'
import type { Owner } from '../../protocol/scope.js'
import { OWNER_MEMBER, ownersIn } from '../reserved.js'
import { NAMED } from './admission.js'
import { Names } from './names.js'
import { stampOf } from './stamp.js'

/** What of a `where` an upstream is asked by. `partly`: some of its tests are left to be made on what comes. */
export interface WhereThere {
  readonly where: Where
  readonly partly: boolean
}

/** Fields that a record has otherwise at the upstream, in ways that no test there can know. */
const UNTESTABLE: readonly string[] = ['metadata', 'owner']

/** Puts a `where` into the upstream's terms; undefined where no record of the owner's can pass it. */
export function whereThere(where: Where = {}, owner: Owner): WhereThere | undefined {
  const name = ownersIn(where)
  if (name !== undefined) throw invalidParams(`where: the name "${name}" in metadata is reserved`)
  const told = owner === undefined ? anybodys(where) : ones(where, owner)
  if (told === undefined) return undefined
  const partly = Object.keys(where).some((test) => !Object.hasOwn(told, test) && test !== 'owner')
  const open = owner === undefined && Object.hasOwn(where, 'owner')
  return { where: told, partly: partly || open }
}

/** Names are somebody's, and whose is not known; but what is absent is absent for all. */
function anybodys(where: Where): Where {
  const named: readonly string[] = NAMED
  return Object.fromEntries(
    Object.entries(where).filter(
      ([test, wanted]) => !UNTESTABLE.includes(test) && (!named.includes(test) || wanted === null),
    ),
  )
}

function ones(where: Where, owner: string | null): Where | undefined {
  const names = new Names(owner)
  const there: Record<string, unknown> = { ...where }
  for (const test of UNTESTABLE) delete there[test]
  for (const test of NAMED) {
    if (!Object.hasOwn(where, test)) continue
    const named = namedThere(where[test], names)
    if (named === undefined) return undefined
    there[test] = named
  }
  return Object.hasOwn(where, 'owner') && !accepts(where['owner'], owner)
    ? undefined
    : { ...there, [OWNER_MEMBER]: stampOf(owner) }
}

/** Names are texts: anything else that is not null is nobody's. Undefined where nothing can pass. */
function namedThere(wanted: unknown, names: Names): unknown {
  if (!Array.isArray(wanted)) return wanted === null ? null : nameOf(wanted, names)
  const named = wanted.flatMap((one) => (one === null ? [null] : (nameOf(one, names) ?? [])))
  return named.length === 0 ? undefined : named
}

function nameOf(text: unknown, names: Names): string | undefined {
  return typeof text === 'string' ? names.qualify(text) : undefined
}

function accepts(wanted: unknown, owner: string | null): boolean {
  return Array.isArray(wanted) ? wanted.includes(owner) : (wanted ?? null) === owner
}
