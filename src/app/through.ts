import type { ServesConfig } from '../config/versions.js'
import { qualified } from '../config/views.js'
import { Denied, type Leave, type Through } from '../edge/through.js'
import type { Signer, Verifier } from '../identity/signer.js'
import type { Limiter } from '../metering/limiter.js'
import type { Access } from '../protocol/access.js'
import { A2mError } from '../protocol/errors.js'
import type { Caller, Scope } from '../protocol/memory.js'
import type { Closers } from './closers.js'
import type { AppDeps } from './deps.js'
import type { Shared } from './shared.js'

type Elsewhere = Extract<ServesConfig, { readonly kind: 'upstream' }>

export interface ThroughParts {
  /** Of the version. */
  readonly name: string
  readonly serves: Elsewhere
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
  const bearerFor = createBearers(parts, await signerOf(parts))
  const { limiter } = shared
  return {
    upstream,
    async leaveFor(caller) {
      const bearer = await bearerFor(caller)
      return limiter === undefined ? { bearer } : { bearer, ...(await reserve(limiter, caller)) }
    },
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

/** Whom tokens for the server of a version are for. */
export function verifierOf(version: string, { audience }: Elsewhere): Verifier {
  return { upstream: qualified('version', version), audience }
}

/** What is shown there on behalf of a caller. The body is not read, so that nobody who is bound in anything can be held to it. */
function createBearers({ name, serves }: ThroughParts, signer: Signer | undefined) {
  const { bearer } = serves
  const verifier = verifierOf(name, serves)
  return ({ access, scope }: Caller): string | undefined | Promise<string> => {
    if (!isUnbound(access)) throw denied(name, 'a role binds this caller')
    if (scope.kind === 'all' && (signer === undefined || bearer !== undefined)) return bearer
    if (signer === undefined) throw denied(name, 'this caller may not act for every owner')
    return signer.token(verifier, onlyOwner(scope, name))
  }
}

function onlyOwner(scope: Scope, version: string): string {
  const [owner, another] = scope.kind === 'owners' ? scope.owners : []
  if (owner !== undefined && another === undefined) return owner
  throw denied(version, 'it is shown a token of one owner, and this caller has not just one')
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

function denied(version: string, why: string): Denied {
  const message = `${version} is passed on to a server elsewhere, and ${why}`
  return new Denied(new A2mError('SCOPE_DENIED', message))
}

/** Limits on calls of every method hold for what is passed on too: a message whose method nobody reads is a call of no records. */
async function reserve(limiter: Limiter, caller: Caller): Promise<Pick<Leave, 'settle'>> {
  const all = limiter.chargesOf('memory/recall', {}, caller)
  const charges = all.filter(({ quota }) => quota.methods === undefined)
  if (charges.length === 0) return {}
  const admission = await limiter.admit(charges, () => Promise.resolve(0))
  if (admission.kind === 'turned_away') throw new Denied(admission.error, admission.standings)
  const { reservation } = admission
  return {
    settle: (outcome) => reservation.settle(({ amount }) => (outcome === 'used' ? amount : 0)),
  }
}
