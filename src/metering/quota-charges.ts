import type { Caller } from '../protocol/memory.js'
import { type Method, type ParamsOf, SPECS } from '../protocol/methods.js'
import { type Owner, ownerKey } from '../protocol/scope.js'
import { measureParams } from './measure.js'
import type { Quota } from './quota.js'
import type { QuotaTime, Span } from './quota-window.js'
import { ownerOfCall } from './whose.js'

/** What one call takes of one limit. */
export interface Charge {
  readonly quota: Quota
  /** Whom it is counted for, among those of the limit. */
  readonly subject: string
  /** The owner that a limit for owners is counted for; undefined for others. */
  readonly owner: Owner
  readonly span: Span
  readonly amount: number
}

/** What a call writes for one owner. */
interface Portion {
  readonly owner: Owner
  readonly records: number
  readonly characters: number
}

/** What a call takes of every limit that concerns it, before it is done. A call that takes nothing of a limit is not its. */
export function chargesOf<M extends Method>(
  quotas: readonly Quota[],
  time: QuotaTime,
  { method, params, caller }: { method: M; params: ParamsOf<M>; caller: Caller },
): readonly Charge[] {
  const charges: Charge[] = []
  const now = time.now()
  let portions: readonly Portion[] | undefined
  for (const quota of quotas) {
    if (!concerns(quota, method, caller)) continue
    portions ??= portionsOf(method, params, caller)
    addCharges(charges, { quota, span: time.span(quota.window, now), caller, portions })
  }
  return charges
}

interface Charging {
  readonly quota: Quota
  readonly span: Span
  readonly caller: Caller
  readonly portions: readonly Portion[]
}

function addCharges(charges: Charge[], { quota, span, caller, portions }: Charging): void {
  const concerned = quota.owners === undefined ? portions : portions.filter(isOf(quota.owners))
  const add = (subject: string, owner: Owner, amount: number) => {
    if (amount > 0) charges.push({ quota, subject, owner, span, amount })
  }
  if (quota.per === 'owner') {
    for (const portion of concerned) {
      // Of anyone's records no stock can be told before it is known whose they are.
      if (quota.of === 'stock' && portion.owner === undefined) continue
      add(ownerKey(portion.owner), portion.owner, amountOf(quota, [portion]))
    }
    return
  }
  const amount = amountOf(quota, concerned)
  if (quota.per === 'caller') add(caller.name, undefined, amount)
  else for (const role of rolesOf(caller, quota)) add(role, undefined, amount)
}

function concerns(quota: Quota, method: Method, { name, roles }: Caller): boolean {
  if (!(quota.methods?.has(method) ?? isAboutRecords(method))) return false
  if (quota.callers?.has(name) === false) return false
  return quota.roles === undefined || roles.some((role) => quota.roles?.has(role))
}

/** Whoever asks what the gateway can do, or whether to be told of events, uses no memory. */
function isAboutRecords(method: Method): boolean {
  const { kind } = SPECS[method]
  return kind === 'read' || kind === 'write'
}

function rolesOf({ roles }: Caller, quota: Quota): readonly string[] {
  return [...new Set(roles.filter((role) => quota.roles?.has(role) ?? true))]
}

function isOf(owners: ReadonlySet<string>): (portion: Portion) => boolean {
  return ({ owner }) => typeof owner === 'string' && owners.has(owner)
}

function amountOf({ of }: Quota, portions: readonly Portion[]): number {
  if (of === 'calls') return portions.length > 0 ? 1 : 0
  const field = of === 'characters' ? 'characters' : 'records'
  return portions.reduce((sum, portion) => sum + portion[field], 0)
}

/** A summary is one record, of which nobody knows before how long it will be; what it came to is settled after. */
const SUMMARY = { records: 1, characters: 1 }

function portionsOf<M extends Method>(
  method: M,
  params: ParamsOf<M>,
  caller: Caller,
): readonly Portion[] {
  const owner = ownerOfCall(method, params, caller)
  if (owner === undefined && method === 'memory/remember' && 'records' in params) {
    return byOwner(params, caller)
  }
  if (method === 'memory/summarize') return [{ owner, ...SUMMARY }]
  const { records, characters } = measureParams(method, params)
  return [{ owner, records, characters }]
}

/** Records of several owners in one batch count for each of them, or a limit could be got round. */
function byOwner(params: ParamsOf<'memory/remember'>, caller: Caller): readonly Portion[] {
  const batches = new Map<string | undefined, ParamsOf<'memory/remember'>['records'][number][]>()
  for (const entry of params.records) {
    const batch = batches.get(entry.owner)
    if (batch === undefined) batches.set(entry.owner, [entry])
    else batch.push(entry)
  }
  const portions = new Map<string, Portion>()
  for (const records of batches.values()) {
    const part = { ...params, records }
    const owner = ownerOfCall('memory/remember', part, caller)
    const { records: count, characters } = measureParams('memory/remember', part)
    const before = portions.get(ownerKey(owner))
    portions.set(ownerKey(owner), {
      owner,
      records: count + (before?.records ?? 0),
      characters: characters + (before?.characters ?? 0),
    })
  }
  return [...portions.values()]
}
