import { firstBeyond } from '../../protocol/access-decision.js'
import { denied, deniedMethod } from '../../protocol/access-denied.js'
import { type Named, namedIn } from '../../protocol/access-named.js'
import { mayCall } from '../../protocol/access-reach.js'
import type { Memory } from '../../protocol/memory.js'
import type { Parts } from '../parts.js'
import { tierNamed } from '../plan.js'
import { discreet } from './discreet.js'
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
      const within = { ...context, called: method }
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

/** A tier that the caller does not see is not known, in the words in which one that does not exist is not. */
function refuseBeyond({ reach, whole }: Parts, seen: Parts, names: readonly Named[]): void {
  const { tiers } = whole.layout()
  const beyond = firstBeyond(names, { tiers, reach, seen: seen.reach })
  if (beyond === undefined) return
  const { why, named } = beyond
  if (why === 'unknown') tierNamed(seen.layout(), named.tier ?? '')
  throw denied(named)
}
