import { type Named, namedIn } from '../protocol/access-named.js'
import { mayCall } from '../protocol/access-reach.js'
import { copyWith } from '../protocol/copy.js'
import type { Memory } from '../protocol/memory.js'
import { denied, deniedMethod } from './denied.js'
import { discreet } from './discreet.js'
import type { Parts } from './parts.js'
import { tierNamed } from './plan.js'
import type { PartsByReach } from './within-reach.js'

export interface AccessOptions {
  readonly parts: PartsByReach
  /** Waits for tiers that are not known yet. */
  readonly settled: () => Promise<void>
}

/**
 * Refuses what a caller's roles do not let it do and it names: methods, tiers, keys. What it does not name is left to the parts
 * that it is served with, of which nothing is there beyond its reach. Whoever has no access to be bounded by is not held up.
 */
export function withAccess(inner: Memory, { parts, settled }: AccessOptions): Memory {
  return {
    async call(method, params, context) {
      const { access } = context.caller
      if (access === undefined) return inner.call(method, params, context)
      if (!mayCall(access, method)) throw deniedMethod(method)
      const within = copyWith(context, { called: method })
      const reached = parts.of(access, method)
      if (reached.reach === undefined) return inner.call(method, params, within)
      await settled()
      refuseBeyond(reached, parts.of(access, 'memory/describe'), namedIn(params))
      try {
        return await inner.call(method, params, within)
      } catch (thrown) {
        throw discreet(thrown, reached)
      }
    },
    close: () => inner.close(),
  }
}

/** A tier that the caller does not see at all does not exist; one that it sees and may not use like this is denied to it. */
function refuseBeyond(reached: Parts, seen: Parts, names: readonly Named[]): void {
  for (const { tier } of names) if (tier !== undefined) tierNamed(seen.layout(), tier)
  for (const named of names) if (!isWithin(reached, named)) throw denied(named)
}

function isWithin({ layout, reach }: Parts, { tier, key }: Named): boolean {
  return layout().tiers.some(
    ({ name, upstreams }) =>
      (tier === undefined || tier === name) &&
      upstreams.some((upstream) => reach?.covers({ tier: name, upstream, key }) ?? true),
  )
}
