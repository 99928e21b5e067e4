import { copyWith } from '../protocol/copy.js'
import { A2mError, CODES, Fault } from '../protocol/errors.js'
import type { Context } from '../protocol/memory.js'
import type { Method, ParamsOf, ResultOf } from '../protocol/methods.js'
import type { FederationReport, UpstreamReport } from '../protocol/reports.js'
import type { Owner } from '../protocol/scope.js'
import type { Clock } from '../protocol/time.js'
import type { Source } from './layout.js'

/** One upstream to be asked one thing, in its own terms. */
export interface Asking<M extends Method> {
  readonly source: Source
  readonly params: ParamsOf<M>
  /** Whose records it is about. Not every method can say so in its params, and an upstream may go by nothing else. */
  readonly owner: Owner
}

/** How an ask ended. `report` is what the caller is told of it. */
export interface Answer<M extends Method> {
  readonly source: Source
  readonly report: UpstreamReport
  /** Undefined where there was no answer, or an error for one: then `thrown` says which. */
  readonly result: ResultOf<M> | undefined
  readonly thrown: unknown
}

/**
 * Asks one upstream, within its own time limit and the caller's. Never rejects: what went wrong is in the answer. Every ask
 * that ends is observed once.
 */
export async function ask<M extends Method>(
  method: M,
  { source, params, owner }: Asking<M>,
  context: Context,
  clock: Clock,
): Promise<Answer<M>> {
  const started = clock.monotonic()
  const deadline = Math.min(context.deadline, started + source.upstream.config.timeout)
  let attempts = 0
  const attempt = () => {
    attempts++
  }
  let result: ResultOf<M> | undefined
  let thrown: unknown
  try {
    const asked = copyWith(context, { deadline, attempt, owner })
    result = await source.memory.call(method, params, asked)
  } catch (error) {
    thrown = error
  }
  const ms = Math.round((clock.monotonic() - started) * 1000) / 1000
  const report = thrown === undefined ? succeeded(result, ms) : failed(thrown, ms)
  context.observe(copyWith(report, { upstream: source.name, method, attempts }))
  return { source, report, result, thrown }
}

/** Asks all at once and waits for all; answers are in the order of the asks, whatever order they came in. */
export function fanOut<M extends Method>(
  method: M,
  asks: readonly Asking<M>[],
  context: Context,
  clock: Clock,
): Promise<Answer<M>[]> {
  return Promise.all(asks.map((asking) => ask(method, asking, context, clock)))
}

function succeeded(result: unknown, ms: number): UpstreamReport {
  const inner = result as
    | { records?: readonly unknown[]; federation?: FederationReport }
    | undefined
  const report: UpstreamReport = { state: 'ok', ms, count: inner?.records?.length ?? 0 }
  if (inner?.federation !== undefined) report.federation = inner.federation
  return report
}

function failed(thrown: unknown, ms: number): UpstreamReport {
  if (thrown instanceof A2mError) return { state: 'refused', ms, count: 0, code: thrown.code }
  const slow = thrown instanceof Fault && (thrown.kind === 'timeout' || thrown.kind === 'busy')
  const reason = thrown instanceof Fault ? thrown.message : 'internal error'
  return { state: slow ? 'timeout' : 'failed', ms, count: 0, reason }
}

/** What an answer may lack: `partial` takes what came, `fail` makes any gap an error. */
export type FailurePolicy = 'partial' | 'fail'

export interface Settling {
  readonly policy: FailurePolicy
  /** Upstreams that should have been asked and could not be, and why. */
  readonly absent: ReadonlyMap<string, string>
  /** Upstreams that were left out because they could not have had an answer, and why. */
  readonly skipped: ReadonlyMap<string, string>
}

/**
 * The one failure policy. Returns the report for the caller; throws where nobody answered who was asked (all refusing
 * alike is the call's own error), or where the policy takes no gap.
 */
export function settle<M extends Method>(
  answers: readonly Answer<M>[],
  { policy, absent, skipped }: Settling,
): FederationReport {
  const upstreams: FederationReport['upstreams'] = {}
  for (const { source, report } of answers) upstreams[source.name] = report
  for (const [name, reason] of absent)
    upstreams[name] = { state: 'failed', ms: 0, count: 0, reason }
  for (const [name, reason] of skipped)
    upstreams[name] = { state: 'skipped', ms: 0, count: 0, reason }
  const gaps = answers.filter((answer) => answer.result === undefined).length + absent.size
  const inner = answers.some(({ report }) => report.federation?.partial === true)
  const report = { partial: gaps > 0 || inner, upstreams }
  const asked = answers.length + absent.size
  if (asked > 0 && gaps === asked) throw nobodyAnswered(answers, report)
  if (report.partial && policy === 'fail') {
    throw new A2mError(
      'INTERNAL_ERROR',
      'an upstream did not answer, and no partial answer is wanted',
      {
        federation: report,
      },
    )
  }
  return report
}

/** Refusals that are about the call and not about the gateway's standing. */
const THE_CALLERS: ReadonlySet<number> = new Set([CODES.INVALID_PARAMS, CODES.EMBEDDING_MISMATCH])

function nobodyAnswered<M extends Method>(
  answers: readonly Answer<M>[],
  federation: FederationReport,
): A2mError {
  const refusals = answers
    .map(({ thrown }) => thrown)
    .filter((thrown) => thrown instanceof A2mError)
  const [first] = refusals
  if (first && THE_CALLERS.has(first.code) && refusals.length === answers.length) {
    return new A2mError(first.code, first.message, { federation })
  }
  return new A2mError('INTERNAL_ERROR', 'no upstream answered', { federation })
}
