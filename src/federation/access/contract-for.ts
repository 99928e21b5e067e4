import type { Access } from '../../protocol/access.js'
import { deniedMethod } from '../../protocol/access-denied.js'
import { isReadOnly, mayCall } from '../../protocol/access-reach.js'
import type { Contract } from '../../protocol/contract.js'
import type { A2mError } from '../../protocol/errors.js'
import type { Context } from '../../protocol/memory.js'
import type { Capability, Method } from '../../protocol/methods.js'
import type { Parts } from '../parts.js'

/** A caller without a name has no owner, and to it `scopes` is not there (§6). Roles of which none writes have a memory to read. */
export function contractFor(parts: Parts, { caller }: Context): Contract {
  const promised = parts.promise()
  const { capabilities, limits } = promised
  const { access, scope } = caller
  const readOnly = promised.readOnly || isReadOnly(access)
  const contract: Contract = {
    capabilities: scope.kind === 'ownerless' ? unscoped(capabilities) : capabilities,
    readOnly,
    limits,
    ...(withholdsOwners(parts) ? { owners: 'withheld' } : {}),
  }
  if (access === undefined) return contract
  return { ...contract, denial: (method) => denialOf(method, access) }
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
