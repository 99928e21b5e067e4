import type { Config } from '../config/config.js'
import { callerOf, type Person } from '../identity/caller.js'
import { createAccessOf } from '../identity/roles.js'
import { allowsMethod, covers, type Grant } from '../protocol/access.js'
import { firstBeyond, type TierPlaces, takes } from '../protocol/access-decision.js'
import { denied, deniedMethod } from '../protocol/access-denied.js'
import { type Named, namedIn } from '../protocol/access-named.js'
import { isReadOnly, mayCall, type Reach, reachFor } from '../protocol/access-reach.js'
import { A2mError } from '../protocol/errors.js'
import type { Caller, Context } from '../protocol/memory.js'
import { type Method, type ParamsOf, SPECS } from '../protocol/methods.js'
import { withScope } from '../protocol/scope.js'
import { internalContext } from '../upstreams/upstream.js'

/** One call that somebody might make; the params are checked. */
export interface Intended<M extends Method = Method> {
  readonly person: Person
  readonly method: M
  readonly params: ParamsOf<M>
}

/** What one role of the caller lacks of what the call takes; nothing where it allows all of it by itself. */
export interface RoleVerdict {
  readonly role: string
  readonly lacks: readonly string[]
}

/** What would be decided. `error` is what the caller would be told, undefined where it may. */
export interface Decision {
  readonly error: A2mError | undefined
  /** Every role of the caller; undefined where no roles are defined, so that everyone may do everything in its scope. */
  readonly roles: readonly RoleVerdict[] | undefined
}

/**
 * Decides as the gateway would, from its configuration alone: nothing is asked of upstreams, so that what is there or what they
 * declare plays no part. Where the tiers are the upstreams' own, their names are not known here.
 */
export async function decide(config: Config, intended: Intended): Promise<Decision> {
  const { person, method, params } = intended
  const { federation, auth, roles } = config
  const caller = callerOf(person, createAccessOf(roles))
  const tiers = federation.tiers.map(({ name, upstream, also }): TierPlaces => {
    return { name, upstreams: [upstream, ...also] }
  })
  const names = namesOf(intended, tiers)
  const error =
    refusal(caller, method) ??
    (await outOfScope(caller, method, params, auth?.ownerMismatch ?? 'deny')) ??
    beyond(caller, { method, names, tiers })
  const verdicts =
    roles && person.roles.map((role) => judge(role, roles.get(role), { method, names }))
  return { error, roles: verdicts }
}

function refusal({ access }: Caller, method: Method): A2mError | undefined {
  if (isReadOnly(access) && SPECS[method].kind === 'write') {
    return new A2mError('READ_ONLY', 'this memory takes no writes')
  }
  return mayCall(access, method) ? undefined : deniedMethod(method)
}

/** The scope is applied to a memory that does nothing. */
async function outOfScope<M extends Method>(
  caller: Caller,
  method: M,
  params: ParamsOf<M>,
  mismatch: 'deny' | 'ignore',
): Promise<A2mError | undefined> {
  const reached = new A2mError('INTERNAL_ERROR', 'within the scope')
  const nothing = { call: () => Promise.reject(reached), close: async () => {} }
  const context: Context = { ...internalContext(0), caller }
  const thrown: unknown = await withScope(nothing, mismatch)
    .call(method, params, context)
    .catch((error: unknown) => error)
  return thrown instanceof A2mError && thrown !== reached ? thrown : undefined
}

interface Asked {
  readonly method: Method
  readonly names: readonly Named[]
}

function beyond(
  { access }: Caller,
  { method, names, tiers }: Asked & { readonly tiers: readonly TierPlaces[] },
): A2mError | undefined {
  const reach = reachFor(access, method)
  if (reach === undefined) return undefined
  const seen = reachFor(access, 'memory/describe')
  const known = tiers.length > 0 ? tiers : told(names)
  const first = firstBeyond(names, { tiers: known, reach, seen })
  if (first?.why === 'unknown') {
    return new A2mError('UNKNOWN_TIER', `no tier ${JSON.stringify(first.named.tier)}`)
  }
  const unwritable = method === 'memory/remember' ? firstUnwritable(names, known, reach) : undefined
  const named = first?.named ?? unwritable
  return named && denied(named)
}

/** Each entry needs a tier that takes it: the one that it names, or any. */
function firstUnwritable(
  names: readonly Named[],
  tiers: readonly TierPlaces[],
  reach: Reach,
): Named | undefined {
  return names.find(
    ({ tier, key }) =>
      !tiers.some((one) => (tier === undefined || one.name === tier) && takes(reach, one, key)),
  )
}

/** Where upstreams tell the tiers, those that are named are taken to be there, at some upstream or other. */
function told(names: readonly Named[]): TierPlaces[] {
  const tiers = new Set(names.map(({ tier }) => tier))
  return [...tiers.add(undefined)].map((name) => ({ name, upstreams: [undefined] }))
}

/** An entry that names nothing goes to some tier all the same. */
function namesOf({ method, params }: Intended, tiers: readonly TierPlaces[]): readonly Named[] {
  const named = namedIn(params)
  if (method !== 'memory/remember' || tiers.length === 0) return named
  const count = 'records' in params && Array.isArray(params.records) ? params.records.length : 0
  const paths = new Set(named.map(({ path }) => path))
  const others = [...Array(count).keys()].map((index) => `records[${index}]`)
  return [...named, ...others.filter((path) => !paths.has(path)).map((path) => ({ path }))]
}

function judge(role: string, grant: Grant | undefined, { method, names }: Asked): RoleVerdict {
  if (grant === undefined) return { role, lacks: ['it is not defined'] }
  const lacks: string[] = []
  if (!allowsMethod(grant, method)) {
    const only = grant.access === 'read' && SPECS[method].kind === 'write'
    lacks.push(only ? 'it only reads' : `it has no ${method}`)
  }
  for (const { tier, key } of names) {
    if (!covers(grant, { tier })) lacks.push(`it does not have the tier ${JSON.stringify(tier)}`)
    if (!covers(grant, { key })) lacks.push(`it does not have the key ${JSON.stringify(key)}`)
  }
  return { role, lacks: [...new Set(lacks)] }
}
