import { Fault } from '../../protocol/errors.js'
import type { Context } from '../../protocol/memory.js'
import type { ParamsOf, ResultOf } from '../../protocol/methods.js'
import { type Owner, ownerOf } from '../../protocol/scope.js'
import { formatInstant, parseInstant } from '../../protocol/time.js'
import { type Answer, ask, settle } from '../fan-out.js'
import type { Source } from '../layout.js'
import { isClipped } from '../locate.js'
import type { Handler, Parts } from '../parts.js'
import { planReading, type Target } from '../plan.js'
import { arrive, policyOf } from './reading.js'

type Listed = ResultOf<'memory/session/list'>['sessions'][number]
type Lister = 'memory/session/list' | 'memory/timeline'

/** One session as far as one upstream holds it; instants in ms since 1970, undefined where it did not tell them. */
interface Share {
  readonly session: string
  readonly tiers: ReadonlyMap<string, number>
  readonly opened: number | undefined
  readonly touched: number | undefined
}

/** The sessions of an owner over all upstreams (§4.10), in the order in which they were opened. */
export const listSessions: Handler<
  ParamsOf<'memory/session/list'>,
  ResultOf<'memory/session/list'>
> = async (parts, params, context) => {
  const owner = ownerOf(params)
  const plan = planReading(parts.layout(), { owner })
  const skipped = new Map(plan.skipped)
  const targets = plan.targets.filter(({ source }) => mayHoldSessions(parts, source))
  for (const { source } of plan.targets) {
    if (!mayHoldSessions(parts, source)) skipped.set(source.name, 'it keeps no sessions')
  }
  const asked = await Promise.all(targets.map((target) => listAt(parts, target, owner, context)))
  if (context.cancellation.cancelled) throw new Fault('cancelled', 'the caller left')
  const answers = asked.map(({ answer }) => answer)
  const policy = policyOf(parts, undefined)
  const federation = settle<Lister>(answers, { policy, absent: plan.absent, skipped })
  return { sessions: merge(asked.flatMap(({ shares }) => shares)), federation }
}

/**
 * Whether an upstream may hold records with sessions. One that does not declare `sessions` holds none but those that were moved
 * to it and carry theirs in reserved metadata.
 */
function mayHoldSessions(parts: Parts, { name, profile }: Source): boolean {
  return profile.capabilities.has('sessions') || parts.carried.count(name) > 0
}

interface Asked {
  readonly answer: Answer<Lister>
  readonly shares: readonly Share[]
}

function listAt(parts: Parts, target: Target, owner: Owner, context: Context): Promise<Asked> {
  return tells(parts, target, owner)
    ? toldBy(parts, target, owner, context)
    : countedAt(parts, target, owner, context)
}

/**
 * Whether an upstream's own list is what the gateway would count: of the owner's records alone, all its tiers known here, and
 * none of its records shown otherwise than it has them.
 */
function tells(parts: Parts, { source, tiers }: Target, owner: Owner): boolean {
  const { profile, owners, name, veiled } = source
  if (!profile.capabilities.has('sessions') || tiers.length < profile.tiers.length) return false
  if (veiled) return false
  if (owner !== undefined && owners === 'common') return false
  return profile.extended || (owner !== null && parts.carried.count(name) === 0)
}

async function toldBy(
  parts: Parts,
  target: Target,
  owner: Owner,
  context: Context,
): Promise<Asked> {
  const { source } = target
  const params = source.translation.describing(owner)
  const answer = await ask('memory/session/list', { source, params, owner }, context, parts.clock)
  const told = answer.result?.sessions ?? []
  const whole = source.tiers.length === 1 || told.every(({ tiers }) => tiers !== undefined)
  if (!whole) return countedAt(parts, target, owner, context)
  answer.report.count = told.length
  return { answer, shares: told.map((listed) => shareOf(source, listed)) }
}

function shareOf({ translation, tiers: here }: Source, listed: Listed): Share {
  const { session, records, tiers, opened_at, touched_at } = listed
  const named = Object.entries(tiers ?? {}).map(
    ([tier, count]) => [translation.tierName(tier) ?? '', count] as const,
  )
  return {
    session,
    tiers: new Map(named.length > 0 ? named : here.map((tier) => [tier, records])),
    opened: opened_at === undefined ? undefined : parseInstant(opened_at),
    touched: touched_at === undefined ? undefined : parseInstant(touched_at),
  }
}

async function countedAt(
  parts: Parts,
  target: Target,
  owner: Owner,
  context: Context,
): Promise<Asked> {
  const { source, tiers, where } = target
  const params = source.translation.reading({ tiers, owner, where, limit: 0 }, where)
  const answer = await ask('memory/timeline', { source, params, owner }, context, parts.clock)
  if (isClipped(answer)) return { answer: withGap(answer), shares: [] }
  const { arrived } = arrive(parts, answer.result?.records ?? [], target, owner)
  const shares = arrived.flatMap(({ record, at }): Share[] => {
    const { session, tier = '' } = record
    const made = parseInstant(at)
    if (session === undefined) return []
    return [{ session, tiers: new Map([[tier, 1]]), opened: made, touched: made }]
  })
  answer.report.count = new Set(shares.map(({ session }) => session)).size
  return { answer, shares }
}

/** Of an upstream that does not show all that it holds, no count would be true. */
function withGap(answer: Answer<'memory/timeline'>): Answer<'memory/timeline'> {
  const reason = 'it lets fewer records be read than it holds'
  const report = { state: 'failed', ms: answer.report.ms, count: 0, reason } as const
  return { ...answer, result: undefined, report }
}

interface Sum {
  records: number
  readonly tiers: Map<string, number>
  opened: number
  touched: number
}

function merge(shares: readonly Share[]): Listed[] {
  const sums = new Map<string, Sum>()
  for (const share of shares) {
    const sum = sums.get(share.session) ?? newSum()
    sums.set(share.session, sum)
    add(sum, share)
  }
  return [...sums].sort(([, a], [, b]) => a.opened - b.opened || 0).map(listed)
}

function newSum(): Sum {
  return { records: 0, tiers: new Map(), opened: Infinity, touched: -Infinity }
}

function add(sum: Sum, { tiers, opened = Infinity, touched = -Infinity }: Share): void {
  for (const [tier, count] of tiers) {
    sum.records += count
    sum.tiers.set(tier, (sum.tiers.get(tier) ?? 0) + count)
  }
  sum.opened = Math.min(sum.opened, opened)
  sum.touched = Math.max(sum.touched, touched)
}

function listed([session, { records, tiers, opened, touched }]: [string, Sum]): Listed {
  return {
    session,
    records,
    tiers: Object.fromEntries(tiers),
    ...(Number.isFinite(opened) ? { opened_at: formatInstant(opened) } : {}),
    ...(Number.isFinite(touched) ? { touched_at: formatInstant(touched) } : {}),
  }
}
