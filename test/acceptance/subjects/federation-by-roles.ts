import { embeddedStore, openFederation, tierConfig } from '../../support/federation.js'
import { accessBy, granted } from '../../support/grants.js'
import type { Subject } from '../subject.js'
import { inProcess } from './in-process.js'

/** The federation of three as callers see it from whom a fourth upstream is hidden, and with it the first of all tiers. */
export async function openFederationByRoles(): Promise<Subject> {
  const store = (tier: string) => ({ memory: embeddedStore({ path: ':memory:', tiers: [tier] }) })
  const opened = await openFederation({
    places: 'kept',
    upstreams: {
      hidden: store('vault'),
      one: store('working'),
      two: store('episodic'),
      three: store('facts'),
    },
    tiers: [
      tierConfig('vault', 'hidden', { kind: 'semantic' }),
      tierConfig('working', 'one', { kind: 'working', capacity: 20, spillTo: 'episodic' }),
      tierConfig('episodic', 'two', { kind: 'episodic' }),
      tierConfig('semantic', 'three', { kind: 'semantic', upstreamTier: 'facts' }),
    ],
  })
  const access = accessBy({ tiers: new Set(['working', 'episodic', 'semantic']) })
  return inProcess(
    opened.federation,
    (owner) => granted(access, { kind: 'owners', owners: [owner] })(),
    () => opened.close(),
  )
}
