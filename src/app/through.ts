import type { ElsewhereConfig } from '../config/versions.js'
import type { Through } from '../edge/through.js'
import type { Signer } from '../identity/signer.js'
import type { Closers } from './closers.js'
import type { AppDeps } from './deps.js'
import { auditedLeaves, createLeaves } from './leave.js'
import type { Shared } from './shared.js'

export interface ThroughParts {
  /** Of the version. */
  readonly name: string
  readonly serves: ElsewhereConfig
  readonly shared: Shared
  readonly deps: AppDeps
  readonly closers: Closers
}

/** A server elsewhere that a version is passed on to. The HTTP client is loaded only where there is one. */
export async function openThrough(parts: ThroughParts): Promise<Through> {
  const { serves, shared, deps, closers } = parts
  const { createStreamThrough } = await import('../transport/stream-through.js')
  const { url, connections } = serves
  const upstream = createStreamThrough({ url: new URL(url), clock: deps.clock, connections })
  closers.add(() => upstream.close())
  const { auditing } = shared
  const leaveFor = createLeaves(parts, await signerOf(parts))
  return {
    upstream,
    leaveFor: auditing ? auditedLeaves(leaveFor, parts.name, auditing.calls) : leaveFor,
  }
}

/** Who signs for the owners of callers; undefined where no tokens are shown. */
export async function signerOf({
  serves,
  shared,
}: Pick<ThroughParts, 'serves' | 'shared'>): Promise<Signer | undefined> {
  if (serves.owner !== 'token') return undefined
  if (shared.signing === undefined) throw new TypeError(`nobody signs for ${serves.url}`)
  return shared.signing.open()
}
