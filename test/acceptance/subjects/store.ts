import { randomBytes } from 'node:crypto'
import { withContract } from '../../../src/protocol/contract.js'
import { createIds } from '../../../src/protocol/ids.js'
import { withScope } from '../../../src/protocol/scope.js'
import { systemClock } from '../../../src/protocol/time.js'
import { openStore, storeContract } from '../../../src/stores/store.js'
import { ownerContext } from '../../support/federation-contexts.js'
import type { Subject, Traits } from '../subject.js'
import { inProcess } from './in-process.js'

/** The four kinds of a store that is told of no tiers. */
export const STORE: Traits = {
  capabilities: [
    ...(['core', 'tiers', 'salience', 'scopes'] as const),
    ...(['sessions', 'keys', 'embeddings', 'external', 'events'] as const),
  ],
  tiers: ['working', 'episodic', 'semantic', 'procedural'],
  spill: { tier: 'working', capacity: 64, into: 'episodic' },
  owners: 'principal',
}

/** A built-in store in this thread, in memory. */
export async function openStoreHere(): Promise<Subject> {
  const options = { path: ':memory:', events: { keep: 10_000 } }
  const newId = createIds(systemClock.now, randomBytes)
  const store = openStore(options, { clock: systemClock, newId })
  return inProcess(withContract(withScope(store, 'deny'), storeContract(options)), ownerContext)
}
