import { covers, type RoleDefinitions } from '../../protocol/access.js'
import { EXTENSION } from '../../protocol/extension.js'
import { type Context, GATEWAY_ROLE } from '../../protocol/memory.js'
import { type Description, methodsOf, type ParamsOf, type Tier } from '../../protocol/methods.js'
import { ownerOf } from '../../protocol/scope.js'
import { PROTOCOL } from '../../protocol/versions.js'
import type { TierLayout } from '../layout.js'
import type { Handler, Parts } from '../parts.js'
import type { Space } from '../space.js'
import { countTiers, type TierCounts } from './counts.js'

/** The truth of the moment for this caller: tier counts are its own. Capabilities are cut to its contract outside. */
export const describe: Handler<ParamsOf<'memory/describe'>, Description> = async (
  parts,
  params,
  context,
) => {
  const counted = await countTiers(parts, ownerOf(params), context)
  const description = outline(parts, (tier) => tierOf(tier, counted))
  return {
    ...description,
    ...(context.caller.roles.includes(GATEWAY_ROLE) ? { [EXTENSION]: { version: 1 } } : {}),
    ...(seesUpstreams(parts, context) ? { federation: reasons(parts) } : {}),
  }
}

/**
 * What may be told to anybody who asks, without a look at any record (§8.3.3): no counts, and no tier that is hidden from one of the
 * roles that are defined.
 */
export function publicProfile(parts: Parts, roles?: RoleDefinitions): Description {
  const whole = outline(parts, (tier) => ({ ...shape(tier), count: 0 }))
  if (roles === undefined) return whole
  const everyones = parts.layout().tiers.filter((tier) => isEveryones(tier, roles))
  const names = new Set(everyones.map(({ name }) => name))
  const known = (name: string | undefined) => (names.has(name ?? '') ? name : undefined)
  const tiers = everyones.map((tier) => {
    const { spillTo, promoteTo } = tier
    return { ...shape({ ...tier, spillTo: known(spillTo), promoteTo: known(promoteTo) }), count: 0 }
  })
  return { ...whole, tiers }
}

function isEveryones({ name: tier, upstreams }: TierLayout, roles: RoleDefinitions): boolean {
  return [...roles.values()].every((grant) =>
    upstreams.some((upstream) => covers(grant, { tier, upstream })),
  )
}

function outline(parts: Parts, tell: (tier: TierLayout) => Tier): Description {
  const { capabilities, limits, space } = parts.promise()
  return {
    protocol: PROTOCOL,
    name: parts.name,
    capabilities: [...capabilities],
    methods: methodsOf(capabilities),
    ...(Object.keys(limits).length > 0 ? { limits } : {}),
    tiers: parts.layout().tiers.map(tell),
    ...(space === undefined ? {} : { embeddings: vectorsOf(space) }),
    events: { push: false },
  }
}

function vectorsOf({ dimensions, metric, metrics, model }: Space): Description['embeddings'] {
  return { dimensions, metric, metrics: [...metrics], ...(model === undefined ? {} : { model }) }
}

function tierOf(tier: TierLayout, { counts, stale }: TierCounts): Tier {
  const told = { ...shape(tier), count: counts.get(tier.name) ?? 0 }
  return stale.has(tier.name) ? { ...told, stale: true } : told
}

function shape(tier: TierLayout): Omit<Tier, 'count'> {
  const { name, kind, capacity, perSession, spillTo, promoteTo, promoteAfter, halfLife } = tier
  return {
    name,
    ...(kind === undefined ? {} : { kind }),
    capacity,
    ...(perSession ? { per_session: true } : {}),
    ...(spillTo === undefined ? {} : { spill_to: spillTo }),
    ...(promoteTo === undefined ? {} : { promote_to: promoteTo }),
    ...(promoteAfter === undefined ? {} : { promote_after: promoteAfter }),
    ...(halfLife === undefined ? {} : { half_life: halfLife / 1000 }),
  }
}

/** Which upstream takes what away is nothing for a caller that is one of many, or does not see all of them. */
function seesUpstreams({ reach }: Parts, { caller }: Context): boolean {
  return caller.scope.kind !== 'owners' && reach === undefined
}

function reasons(parts: Parts): NonNullable<Description['federation']> {
  const states = parts.upstreams().map(({ name, state }) => [name, state] as const)
  const withheld = [...parts.promise().withheld].map(([name, why]): [string, string[]] => [
    name,
    [...why],
  ])
  return { withheld: Object.fromEntries(withheld), upstreams: Object.fromEntries(states) }
}
