import { join } from 'node:path'
import { EXTENSION } from '../../src/protocol/extension.js'
import type { Memory } from '../../src/protocol/memory.js'
import { openState } from '../../src/state/state.js'
import { embeddedStore, openFederation, type TestFederation, tierConfig } from './federation.js'

/** Whether the receiving store takes what a move carries, or knows nothing of it and is given reserved metadata. */
export type Receiver = 'extended' | 'plain'

/** A gateway on files: `hot` in one store, spilling to `cold` in another, its journal beside them. */
export async function openMovingGateway(
  folder: string,
  receiver: Receiver,
  step: (name: string) => void = () => {},
): Promise<TestFederation> {
  const file = (name: string) => join(folder, name)
  const cold = embeddedStore({ path: file('cold.db'), tiers: ['cold'] })
  return openFederation({
    upstreams: {
      hot: { memory: embeddedStore({ path: file('hot.db'), tiers: ['hot'] }) },
      cold: { memory: receiver === 'plain' ? withoutExtension(cold) : cold },
    },
    tiers: [tierConfig('hot', 'hot', { spillTo: 'cold' }), tierConfig('cold', 'cold')],
    state: openState({ path: file('gateway.db'), durability: 'normal' }),
    step,
  })
}

/** A store that understands no extension, as those of others: it neither declares nor gets it. */
function withoutExtension(inner: Memory): Memory {
  return {
    async call(method, params, context) {
      const plain = { ...params }
      if (EXTENSION in plain) delete plain[EXTENSION]
      const result = { ...(await inner.call(method, plain, context)) }
      if (EXTENSION in result) delete result[EXTENSION]
      return result
    },
    close: () => inner.close(),
  }
}
