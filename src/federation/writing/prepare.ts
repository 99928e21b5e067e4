import { takes } from '../../protocol/access-decision.js'
import { denied } from '../../protocol/access-denied.js'
import type { Named } from '../../protocol/access-named.js'
import { copyWith } from '../../protocol/copy.js'
import { A2mError, invalidParams } from '../../protocol/errors.js'
import { type Carried, EXTENSION } from '../../protocol/extension.js'
import type { ParamsOf } from '../../protocol/methods.js'
import type { Entry } from '../../protocol/records.js'
import { ownerKey } from '../../protocol/scope.js'
import type { Outbound } from '../../upstreams/phrasing.js'
import { reservedIn } from '../../upstreams/reserved.js'
import type { Layout, Source, TierLayout } from '../layout.js'
import type { Parts } from '../parts.js'
import { mixesOwners, needsOwner, reserved, tierNamed } from '../plan.js'

/** An entry that has passed every check that needs no upstream, with the id that it will have if it makes a record. */
export interface Prepared extends Outbound {
  /** Where in the params it stands. */
  readonly path: string
  /** The tier that it names, or else the default one. */
  readonly tier: TierLayout
  /** The caller named the tier. */
  readonly tiered: boolean
  /** The caller gave the id; a retry may bring it again. */
  readonly named: boolean
}

/**
 * The entries of one call, each with its id, and with the call's session where it has none of its own (§4.2). Throws where the
 * caller's roles do not let it write one where it says.
 */
export function prepareAll(parts: Parts, params: ParamsOf<'memory/remember'>): Prepared[] {
  const layout = parts.whole.layout()
  const carried = params[EXTENSION]?.carried ?? []
  const { session } = params
  return params.records.map((entry, index) =>
    prepare(parts, layout, {
      entry: session === undefined || entry.session ? entry : copyWith(entry, { session }),
      path: `records[${index}]`,
      carried: carried[index] ?? undefined,
    }),
  )
}

interface Raw {
  readonly entry: Entry
  readonly path: string
  readonly carried: Carried | undefined
}

function prepare(parts: Parts, layout: Layout, { entry, path, carried }: Raw): Prepared {
  const key = entry.key ?? carried?.key
  const tier =
    entry.tier === undefined
      ? defaultTier(parts, layout, { path, key })
      : tierNamed(layout, entry.tier)
  if (tier === undefined)
    throw new A2mError('INTERNAL_ERROR', 'no upstream has described itself yet')
  if (!takes(parts.reach, tier, key)) throw denied({ path, tier: tier.name, key })
  const taken = reservedIn(entry.metadata?.value())
  if (taken !== undefined) throw reserved(`${path}.metadata`, taken)
  const id = entry.id ?? parts.newId()
  const prepared: Prepared = {
    entry: copyWith(entry, { id, tier: tier.name }),
    carried,
    path,
    tier,
    tiered: entry.tier !== undefined,
    named: entry.id !== undefined,
  }
  if (entry.key === undefined || prepared.tiered) homeOf(prepared)
  return prepared
}

/** The first of all; for a caller whose roles are bounded, the first that they let it write such an entry to. */
function defaultTier(
  parts: Parts,
  { tiers }: Layout,
  { path, key }: Named,
): TierLayout | undefined {
  if (parts.reach === undefined || tiers.length === 0) return tiers[0]
  const found = tiers.find((tier) => takes(parts.reach, tier, key))
  if (found === undefined) throw denied({ path, key })
  return found
}

/** Where an entry goes unless its key has a place already. Throws where nothing can be written there. */
export function homeOf({ entry, path, tier }: Prepared): Source {
  if (tier.home === undefined) {
    throw invalidParams(`${path}.tier: nothing can be written to "${tier.name}": ${tier.homeless}`)
  }
  if (mixesOwners(tier.home, entry.owner ?? null)) {
    throw invalidParams(
      `${path}.tier: "${tier.name}" lives at ${tier.home.name}, which does not keep owners apart`,
    )
  }
  if (needsOwner(tier.home, entry.owner ?? null)) {
    throw invalidParams(
      `${path}.owner: name one; "${tier.name}" lives at ${tier.home.name}, which keeps records of owners alone`,
    )
  }
  return tier.home
}

/** Under which an id is looked up: what one owner sees by it. */
export function wanted(owner: string | null, id: string): string {
  return ownerKey(owner) + id
}
