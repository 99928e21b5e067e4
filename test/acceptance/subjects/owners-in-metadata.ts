import type { Capability } from '../../../src/protocol/methods.js'
import {
  embeddedStore,
  openFederation,
  tierConfig,
  type Upstreams,
} from '../../support/federation.js'
import { ownerContext } from '../../support/federation-contexts.js'
import { lesserStore } from '../../support/lesser-store.js'
import { ownersInMetadata } from '../../support/owner-metadata.js'
import { PlainMemory } from '../../support/plain-memory.js'
import type { Subject, Traits } from '../subject.js'
import { FEDERATION } from './federation.js'
import { inProcess } from './in-process.js'

const TIERS = [
  tierConfig('working', 'one', { kind: 'working', capacity: 20, spillTo: 'episodic' }),
  tierConfig('episodic', 'two', { kind: 'episodic' }),
  tierConfig('semantic', 'three', { kind: 'semantic', upstreamTier: 'facts' }),
]

async function open(one: Upstreams[string], two: typeof one, three: typeof one): Promise<Subject> {
  const opened = await openFederation({ upstreams: { one, two, three }, tiers: TIERS })
  return inProcess(opened.federation, ownerContext, () => opened.close())
}

const STORES: readonly Capability[] = [
  'core',
  'tiers',
  'salience',
  'sessions',
  'keys',
  'embeddings',
  'external',
]

/** A federation of stores that can do everything but keep owners apart. */
export function openStoresWithoutOwners(): Promise<Subject> {
  const store = (tier: string) => {
    const whole = embeddedStore({ path: ':memory:', tiers: [tier] })
    return {
      ...ownersInMetadata(lesserStore(whole, STORES)),
      config: { owner: 'metadata', timeout: 5000 },
    } as const
  }
  return open(store('working'), store('episodic'), store('facts'))
}

/** A federation of stores of somebody else's that can do the least. */
export function openPlainStoresWithoutOwners(): Promise<Subject> {
  // A plain store gives records of one instant in no order of its own.
  let last = 0
  const now = () => {
    last = Math.max(last + 1, Date.now())
    return last
  }
  const plain = () =>
    ({
      ...ownersInMetadata(new PlainMemory({ now })),
      config: { owner: 'metadata', timeout: 5000 },
    }) as const
  return open(plain(), plain(), plain())
}

export const STORES_WITHOUT_OWNERS: Traits = { ...FEDERATION, use: 'as given' }
export const PLAIN_WITHOUT_OWNERS: Traits = {
  ...FEDERATION,
  capabilities: ['core', 'tiers', 'scopes', 'events', 'summarize', 'prompt'],
}
