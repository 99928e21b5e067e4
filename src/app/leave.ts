import type { ElsewhereConfig } from '../config/versions.js'
import { qualified } from '../config/views.js'
import { Denied, type Leave } from '../edge/through.js'
import type { Signer, Verifier } from '../identity/signer.js'
import type { Limiter } from '../metering/limiter.js'
import type { Access } from '../protocol/access.js'
import { A2mError, CODES } from '../protocol/errors.js'
import type { Caller, Scope } from '../protocol/memory.js'
import type { AuditEntry } from '../telemetry/audit-log.js'
import { type AuditOptions, limitOf } from '../telemetry/with-audit.js'
import type { Metering } from './metering.js'

export interface LeaveParts {
  /** Of the version. */
  readonly name: string
  readonly serves: ElsewhereConfig
  readonly shared: {
    readonly limiter: Limiter | undefined
    readonly metering: Pick<Metering, 'refusal'> | undefined
  }
}

type Tokens = Pick<Signer, 'token'>
type LeaveFor = (caller: Caller, trace: string) => Promise<Leave>

/** Who is let through to the server of a version, with what is shown there. Without a signer no tokens are. */
export function createLeaves(
  parts: LeaveParts,
  signer: Tokens | undefined,
): (caller: Caller) => Promise<Leave> {
  const { limiter, metering } = parts.shared
  const bearerFor = createBearers(parts, signer)
  return async (caller) => {
    const bearer = await bearerFor(caller)
    const uncounted = metering?.refusal()
    if (uncounted !== undefined) throw new Denied(uncounted)
    return limiter === undefined ? { bearer } : { bearer, ...(await reserve(limiter, caller)) }
  }
}

/**
 * What is passed on may be a write, which nobody here can tell: the audit log has a line for each before it is sent, and for each
 * that is not let through.
 */
export function auditedLeaves(inner: LeaveFor, version: string, options: AuditOptions): LeaveFor {
  const { audit, onFailure } = options
  return async (caller, trace) => {
    const who = { trace, caller: caller.name, roles: caller.roles, version }
    if (audit.failing && onFailure === 'refuse') throw new Denied(unaudited())
    const leave = await inner(caller, trace).catch((thrown: unknown) => {
      audit.write({ ...who, ...endOf(thrown) })
      throw thrown
    })
    audit.write({ ...who, outcome: 'passed_on' })
    return leave
  }
}

function endOf(thrown: unknown): AuditEntry {
  if (!(thrown instanceof Denied)) return { outcome: 'failed', code: CODES.INTERNAL_ERROR }
  const { code } = thrown.error
  const outcome = code === CODES.INTERNAL_ERROR ? 'failed' : 'refused'
  return { outcome, code, limit: limitOf(thrown.error) }
}

function unaudited(): A2mError {
  const message =
    'the audit log cannot be written at the moment, and nothing is passed on without; try again later'
  return new A2mError('INTERNAL_ERROR', message, { outcome: 'not_sent' })
}

/** Whom tokens for the server of a version are for. */
export function verifierOf(version: string, { audience }: ElsewhereConfig): Verifier {
  return { upstream: qualified('version', version), audience }
}

/** What is shown there on behalf of a caller. The body is not read, so that nobody who is bound in anything can be held to it. */
function createBearers({ name, serves }: LeaveParts, signer: Tokens | undefined) {
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
