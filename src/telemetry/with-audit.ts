import { copyWith } from '../protocol/copy.js'
import { A2mError, CODES, toA2mError } from '../protocol/errors.js'
import type { Context, Effect } from '../protocol/memory.js'
import { type Method, type ParamsOf, type ResultOf, SPECS } from '../protocol/methods.js'
import type { OwnerMismatch } from '../protocol/scope.js'
import type { Served } from '../protocol/serve.js'
import type { Audit, AuditEntry } from './audit-log.js'
import { ownersIn } from './audit-owners.js'
import { type Done, doneBy, type Named, namesOf } from './audit-rules.js'

export interface AuditOptions {
  readonly audit: Audit
  readonly mismatch: OwnerMismatch
  /** Which federation the calls go to; undefined for the default one. */
  readonly federation?: string | undefined
  /** What becomes of writes while the log cannot be written: they go on, or are refused. */
  readonly onFailure: 'continue' | 'refuse'
}

/** Errors that say that a caller may not. */
const REFUSALS: ReadonlySet<number> = new Set([
  CODES.READ_ONLY,
  CODES.SCOPE_DENIED,
  CODES.QUOTA_EXCEEDED,
])

/** Tells the audit log of every call that writes, however it ends, and of every refusal. It belongs around everything else. */
export function withAudit(inner: Served, options: AuditOptions): Served {
  const { audit } = options
  const refused = <T>(call: Call<Method>, error: T): T => {
    if (error instanceof A2mError && REFUSALS.has(error.code)) {
      audit.write(entryOf(call, options, refusalOf(error)))
    }
    return error
  }
  return {
    refusal(method, context) {
      const error = inner.refusal(method, context)
      return error && refused({ method, context }, error)
    },
    recognised: (method, params, context) => inner.recognised(method, params, context),
    async call(method, params, context) {
      if (SPECS[method].kind === 'write') return write(inner, { method, params, context }, options)
      try {
        return await inner.call(method, params, context)
      } catch (thrown) {
        throw refused({ method, params, context }, thrown)
      }
    },
    close: () => inner.close(),
  }
}

/** `params` are undefined where the call was refused before anybody looked at them. */
interface Call<M extends Method> {
  readonly method: M
  readonly context: Context
  readonly params?: ParamsOf<M>
}

interface Write<M extends Method> extends Call<M> {
  readonly params: ParamsOf<M>
}

async function write<M extends Method>(
  inner: Served,
  call: Write<M>,
  options: AuditOptions,
): Promise<ResultOf<M>> {
  const { audit, onFailure } = options
  if (onFailure === 'refuse' && audit.failing) throw unaudited()
  const effects: Effects = {}
  const touched: Context['touched'] = (effect, ids) => {
    effects[effect] = [...(effects[effect] ?? []), ...ids]
  }
  try {
    const result = await inner.call(call.method, call.params, copyWith(call.context, { touched }))
    const done = doneBy(call.method, result)
    audit.write(entryOf(call, options, { outcome: 'ok', done, effects }))
    return result
  } catch (thrown) {
    audit.write(entryOf(call, options, { ...endingOf(thrown), effects }))
    throw thrown
  }
}

function unaudited(): A2mError {
  return new A2mError(
    'INTERNAL_ERROR',
    'the audit log cannot be written, and without it nothing is changed; try again later',
    { outcome: 'not_sent' },
  )
}

type Effects = { [E in Effect]?: readonly string[] }

/** How a call ended. `effect` says of a failure whether anything may have changed all the same. */
interface Ending {
  readonly outcome: 'ok' | 'refused' | 'failed'
  readonly code?: number
  readonly effect?: unknown
  readonly limit?: unknown
  readonly done?: Done | undefined
  readonly effects?: Effects
}

function endingOf(thrown: unknown): Ending {
  const error = toA2mError(thrown)
  if (REFUSALS.has(error.code)) return refusalOf(error)
  return { outcome: 'failed', code: error.code, effect: error.data?.['outcome'] }
}

function refusalOf(error: A2mError): Ending {
  return { outcome: 'refused', code: error.code, limit: limitOf(error) }
}

/** The name of the limit that a call was refused by; undefined where it was none. */
export function limitOf({ code, data }: A2mError): unknown {
  return code === CODES.QUOTA_EXCEEDED ? data?.['limit'] : undefined
}

const NOTHING: Named = {}

/** Who wanted what, and what became of it. Written out, since to spread objects into one another would take longer than all else. */
function entryOf<M extends Method>(
  { method, params, context }: Call<M>,
  { mismatch, federation }: AuditOptions,
  { outcome, code, limit, effect, done, effects }: Ending,
): AuditEntry {
  const { caller, trace } = context
  const { owner, owners } = ownersIn(params, caller, mismatch)
  const named = params === undefined ? NOTHING : namesOf(method, params)
  return {
    trace,
    caller: caller.name,
    roles: caller.roles,
    owner,
    owners,
    federation,
    method,
    ids: named.ids,
    keys: named.keys,
    key_prefix: named.key_prefix,
    tiers: named.tiers,
    sessions: named.sessions,
    by: named.by,
    outcome,
    code,
    limit,
    effect,
    count: done?.count,
    written: done?.written,
    forgotten: effects?.forgotten,
    promoted: effects?.promoted,
    moved: effects?.moved,
    dropped: effects?.dropped,
  }
}
