import { EXTENSION } from '../protocol/extension.js'
import { type Caller, GATEWAY_ROLE } from '../protocol/memory.js'
import { isObject } from '../protocol/rpc.js'
import type { OwnerMismatch } from '../protocol/scope.js'

/** Whose records a call was about: one owner's, those without an owner (null), several owners', or anyone's (neither is there). */
export interface Owners {
  readonly owner?: string | null
  readonly owners?: readonly string[]
}

/**
 * Reads it from the params as they came, so that a refusal tells whom the caller wanted to act for. `mismatch` is what becomes of
 * owners that are not the caller's.
 */
export function ownersIn(params: unknown, caller: Caller, mismatch: OwnerMismatch): Owners {
  const { scope } = caller
  if (scope.kind === 'ownerless') return { owner: null }
  const named = namedIn(params, caller)
  if (scope.kind === 'all') return told(named)
  const taken = mismatch === 'ignore' ? named.filter((one) => isOneOf(scope.owners, one)) : named
  if (taken.length > 0) return told(taken)
  return scope.owners.length === 1 ? { owner: scope.owners[0] } : {}
}

function isOneOf(owners: readonly string[], owner: string | null): boolean {
  return owner !== null && owners.includes(owner)
}

function told(named: readonly (string | null)[]): Owners {
  const [first] = named
  if (first === undefined) return {}
  if (named.length === 1) return { owner: first }
  return { owners: named.filter((owner) => owner !== null) }
}

/** Each once. Entries of a write may have owners of their own. */
function namedIn(params: unknown, caller: Caller): readonly (string | null)[] {
  if (!isObject(params)) return []
  const whole = params['owner'] ?? extensionOwner(params, caller)
  const { records } = params
  if (!Array.isArray(records)) return isOwner(whole) ? [whole] : []
  const owners = new Set<string | null>()
  for (const entry of records) {
    const own = (isObject(entry) && entry['owner']) || whole
    if (isOwner(own)) owners.add(own)
  }
  return [...owners]
}

function isOwner(value: unknown): value is string | null {
  return typeof value === 'string' || value === null
}

/** Only a gateway may send one. */
function extensionOwner(params: Readonly<Record<string, unknown>>, { roles }: Caller): unknown {
  const extension = params[EXTENSION]
  return roles.includes(GATEWAY_ROLE) && isObject(extension) ? extension['owner'] : undefined
}
