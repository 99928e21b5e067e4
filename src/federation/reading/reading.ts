import { Fault } from '../../protocol/errors.js'
import type { Context } from '../../protocol/memory.js'
import type { ParamsOf } from '../../protocol/methods.js'
import type { FederationReport } from '../../protocol/reports.js'
import type { Owner } from '../../protocol/scope.js'
import { type Answer, type FailurePolicy, fanOut, settle } from '../fan-out.js'
import type { Parts } from '../parts.js'
import type { Plan, Target } from '../plan.js'
import type { RankedList } from '../ranking/fuse.js'
import { type Arrivals, arrivals } from './arrivals.js'

type ReadMethod = 'memory/recall' | 'memory/timeline'

/** One reading of many upstreams. */
export interface Reading<M extends ReadMethod> {
  readonly method: M
  readonly plan: Plan
  readonly owner: Owner
  readonly policy: FailurePolicy
  /** The params for one target, in its terms. */
  readonly paramsFor: (target: Target) => ParamsOf<M>
  /** What of an answer counts: sorted, cut to what was asked. */
  readonly take: (answer: Answer<M>, target: Target) => Arrivals
}

/** Lists of what arrived, in the order of the configuration, and the report that goes with them. */
export interface Read {
  readonly lists: readonly RankedList[]
  readonly report: FederationReport
}

/** Asks everyone that the plan names, keeps the failure policy, and brings the records into the gateway's terms. */
export async function read<M extends ReadMethod>(
  parts: Parts,
  reading: Reading<M>,
  context: Context,
): Promise<Read> {
  const { method, plan, policy, owner } = reading
  const asks = plan.targets.map((target) => ({
    source: target.source,
    owner,
    params: reading.paramsFor(target),
  }))
  const answers = await fanOut(method, asks, context, parts.clock)
  if (context.cancellation.cancelled) throw new Fault('cancelled', 'the caller left')
  const report = settle(answers, { policy, absent: plan.absent, skipped: plan.skipped })
  const lists: RankedList[] = []
  for (const [index, answer] of answers.entries()) {
    const target = plan.targets[index]
    if (answer.result === undefined || target === undefined) continue
    const { arrived } = reading.take(answer, target)
    answer.report.count = arrived.length
    lists.push(listOf(target, arrived))
  }
  return { lists, report }
}

function listOf({ source }: Target, arrived: Arrivals['arrived']): RankedList {
  const { name, translation } = source
  return { name, arrived, qualify: (id) => translation.qualifiedId(translation.idHere(id) ?? id) }
}

/** What the caller says about gaps, or else the configuration. */
export function policyOf(parts: Parts, partial: boolean | undefined): FailurePolicy {
  if (partial === undefined) return parts.recall.onFailure
  return partial ? 'partial' : 'fail'
}

/** Arrivals of raw records at a target, with the blame where it belongs. */
export function arrive(
  parts: Parts,
  raw: Parameters<typeof arrivals>[0],
  target: Target,
  owner: Owner,
): Arrivals {
  return arrivals(raw, { target, owner, blame: parts.blame })
}

/** The most that a call may return: 0 (everything) is the maximum where one is promised (§4.3). */
export function boundedLimit(parts: Parts, limit: number): number {
  return limit === 0 ? (parts.promise().limits.max_recall_limit ?? 0) : limit
}

/** The first `limit` of a list; 0 is all of it. */
export function first<T>(items: readonly T[], limit: number): readonly T[] {
  return limit === 0 || items.length <= limit ? items : items.slice(0, limit)
}
