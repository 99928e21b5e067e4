import type { Access } from '../../protocol/access.js'
import { deniedMethod } from '../../protocol/access-denied.js'
import { isReadOnly, mayCall } from '../../protocol/access-reach.js'
import type { Contract } from '../../protocol/contract.js'
import type { A2mError } from '../../protocol/errors.js'
import type { Caller, Context } from '../../protocol/memory.js'
import type { Capability, Method } from '../../protocol/methods.js'
import { onceFor } from '../../protocol/once-for.js'
import type { Parts } from '../parts.js'
import type { Promised } from '../promise.js'

/** What is promised to each caller: worked out once for each, until something else is promised to all. */
export function createContracts(parts: Parts): (context: Context) => Contract {
  const contractsUnder = onceFor((_: Promised) =>
    onceFor((caller: Caller) => contractFor(parts, caller)),
  )
  return ({ caller }) => contractsUnder(parts.promise())(caller)
}

/** A caller without a name has no owner, and to it `scopes` is not there (§6). Roles of which none writes have a memory to read. */
function contractFor(parts: Parts, { access, scope }: Caller): Contract {
  const { capabilities, limits, readOnly } = parts.promise()
  return {
    capabilities: scope.kind === 'ownerless' ? unscoped(capabilities) : capabilities,
    readOnly: readOnly || isReadOnly(access),
    limits,
    ...(withholdsOwners(parts) ? { owners: 'withheld' } : {}),
    ...(access === undefined ? {} : { denial: (method) => denialOf(method, access) }),
  }
}

/** Promising nothing of owners while some upstream knows them is not having none. */
function withholdsOwners({ promise, layout }: Parts): boolean {
  if (promise().capabilities.has('scopes')) return false
  return layout().sources.some(({ owners }) => owners === 'apart')
}

function unscoped(capabilities: ReadonlySet<Capability>): ReadonlySet<Capability> {
  const without = new Set(capabilities)
  without.delete('scopes')
  return without
}

function denialOf(method: Method, access: Access): A2mError | undefined {
  return mayCall(access, method) ? undefined : deniedMethod(method)
}
