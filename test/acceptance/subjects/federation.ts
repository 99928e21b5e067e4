import { CAPABILITIES } from '../../../src/protocol/methods.js'
import { embeddedStore, openFederation, tierConfig } from '../../support/federation.js'
import { ownerContext } from '../../support/federation-contexts.js'
import type { Subject, Traits } from '../subject.js'
import { inProcess } from './in-process.js'

export const FEDERATION: Traits = {
  capabilities: CAPABILITIES,
  tiers: ['working', 'episodic', 'semantic'],
  spill: { tier: 'working', capacity: 20, into: 'episodic' },
  owners: 'principal',
}

/** A federation of three stores in this process, a tier on each. */
export async function openFederationHere(): Promise<Subject> {
  const store = (tier: string) => ({ memory: embeddedStore({ path: ':memory:', tiers: [tier] }) })
  const opened = await openFederation({
    upstreams: { one: store('working'), two: store('episodic'), three: store('facts') },
    tiers: [
      tierConfig('working', 'one', { kind: 'working', capacity: 20, spillTo: 'episodic' }),
      tierConfig('episodic', 'two', { kind: 'episodic' }),
      tierConfig('semantic', 'three', { kind: 'semantic', upstreamTier: 'facts' }),
    ],
  })
  return inProcess(opened.federation, ownerContext, () => opened.close())
}
