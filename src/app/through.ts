import type { ServesConfig } from '../config/versions.js'
import type { Leave, Through } from '../edge/pass-through.js'
import type { Access } from '../protocol/access.js'
import { A2mError } from '../protocol/errors.js'
import type { Caller } from '../protocol/memory.js'
import type { Closers } from './closers.js'
import type { AppDeps } from './deps.js'

export interface ThroughParts {
  /** Of the version. */
  readonly name: string
  readonly serves: Extract<ServesConfig, { readonly kind: 'upstream' }>
  readonly deps: AppDeps
  readonly closers: Closers
}

/** A server elsewhere that a version is passed on to. The HTTP client is loaded only where there is one. */
export async function openThrough(parts: ThroughParts): Promise<Through> {
  const { serves, deps, closers } = parts
  const { createStreamThrough } = await import('../transport/stream-through.js')
  const { url, connections } = serves
  const upstream = createStreamThrough({ url: new URL(url), clock: deps.clock, connections })
  closers.add(() => upstream.close())
  return { upstream, leaveFor: (caller) => leaveFor(caller, parts) }
}

/** The body is not read, so that whoever is bound in anything cannot be held to it. */
function leaveFor(caller: Caller, { name, serves }: ThroughParts): Leave {
  if (!isUnbound(caller.access)) throw denied(name, 'a role binds this caller')
  if (caller.scope.kind !== 'all') throw denied(name, 'this caller may not act for every owner')
  return { bearer: serves.bearer }
}

/** Whether some role grants everything by itself. */
function isUnbound(access: Access): boolean {
  if (access === undefined) return true
  return access.some(
    ({ methods, tiers, upstreams, keyPrefixes, access: kind }) =>
      kind === 'write' &&
      [methods, tiers, upstreams, keyPrefixes].every((one) => one === undefined),
  )
}

function denied(version: string, why: string): A2mError {
  return new A2mError('SCOPE_DENIED', `${version} is passed on to a server elsewhere, and ${why}`)
}
