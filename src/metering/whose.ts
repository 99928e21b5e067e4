import { EXTENSION } from '../protocol/extension.js'
import { type Caller, GATEWAY_ROLE, type Scope } from '../protocol/memory.js'
import type { Method, ParamsOf, ResultOf } from '../protocol/methods.js'
import type { Owned, Owner } from '../protocol/scope.js'

/**
 * Whose records a call is about, as `withScope` will resolve it: what the params name within the caller's scope, or the one
 * owner that the caller may act for. Undefined where a batch is of several owners.
 */
export function ownerOfCall<M extends Method>(
  method: M,
  params: ParamsOf<M>,
  caller: Caller,
): Owner {
  const alone = ownerOfScope(caller.scope)
  if (alone !== undefined) return alone
  return method === 'memory/remember' && 'records' in params
    ? ownerOfEntries(params, caller)
    : within(namedBy(params, caller), caller.scope)
}

/** Whose records a caller's calls are about whatever they name; undefined where that is for each call to say. */
export function ownerOfScope(scope: Scope): Owner {
  if (scope.kind === 'ownerless') return null
  return scope.kind === 'owners' && scope.owners.length === 1 ? scope.owners[0] : undefined
}

/** The same once it is done: a summary of anyone's records that named nobody has come to be of one owner. */
export function ownerOfResult<M extends Method>(
  method: M,
  result: ResultOf<M>,
  before: Owner,
): Owner {
  if (before !== undefined || method !== 'memory/summarize' || !('written' in result)) return before
  const [summary] = result.records
  return summary === undefined ? undefined : (summary.owner ?? null)
}

function ownerOfEntries(params: ParamsOf<'memory/remember'>, caller: Caller): Owner {
  const common = namedBy(params, caller)
  const first = params.records[0]?.owner ?? common
  const same = params.records.every(({ owner }) => (owner ?? common) === first)
  if (!same) return undefined
  return caller.scope.kind === 'all' ? (first ?? null) : within(first, caller.scope)
}

function namedBy(params: Owned, { roles }: Caller): Owner {
  const trusted = roles.includes(GATEWAY_ROLE) ? params[EXTENSION]?.owner : undefined
  return params.owner ?? trusted
}

function within(owner: Owner, scope: Scope): Owner {
  if (scope.kind !== 'owners') return owner
  return typeof owner === 'string' && scope.owners.includes(owner) ? owner : undefined
}

/** What somebody may touch who acts for that owner alone. */
export function scopeOf(owner: Owner): Scope {
  if (owner === undefined) return { kind: 'all' }
  return owner === null ? { kind: 'ownerless' } : { kind: 'owners', owners: [owner] }
}
