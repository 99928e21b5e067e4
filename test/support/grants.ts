import { type Access, accessOf, type Grant } from '../../src/protocol/access.js'
import type { Context, Scope } from '../../src/protocol/memory.js'
import { contextOf } from './federation-contexts.js'

/** A grant that says what it says and bounds nothing else. */
export function grant(over: Partial<Grant> = {}): Grant {
  return {
    role: 'some',
    methods: undefined,
    tiers: undefined,
    upstreams: undefined,
    keyPrefixes: undefined,
    access: 'write',
    ...over,
  }
}

/** The access of a caller whose roles grant this, one each. */
export function accessBy(...grants: readonly Partial<Grant>[]): Access {
  const roles = grants.map((over, index) => grant({ role: `role ${index}`, ...over }))
  const definitions = new Map(roles.map((one) => [one.role, one]))
  return accessOf([...definitions.keys()], definitions)
}

/** Calls of a caller with this access, who may act for every owner unless told. */
export function granted(access: Access, scope: Scope = { kind: 'all' }): () => Context {
  const caller = { name: 'bounded', roles: [], scope, ...(access === undefined ? {} : { access }) }
  return () => contextOf(scope, { caller })
}
