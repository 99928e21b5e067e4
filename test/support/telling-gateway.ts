import { join } from 'node:path'
import { openState } from '../../src/state/state.js'
import { embeddedStore, openFederation, type TestFederation, tierConfig } from './federation.js'
import { ownerContext } from './federation-contexts.js'

export const teller = () => ownerContext('alice', { deadline: Number.POSITIVE_INFINITY })

/** A gateway on files whose `hot` tier holds two records and spills into `cold`, which is another store. */
export function openTellingGateway(
  folder: string,
  step: (name: string) => void = () => {},
): Promise<TestFederation> {
  const file = (name: string) => join(folder, name)
  return openFederation({
    upstreams: {
      hot: { memory: embeddedStore({ path: file('hot.db'), tiers: ['hot'] }) },
      cold: { memory: embeddedStore({ path: file('cold.db'), tiers: ['cold'] }) },
    },
    tiers: [
      tierConfig('hot', 'hot', { kind: 'working', capacity: 2, spillTo: 'cold' }),
      tierConfig('cold', 'cold'),
    ],
    state: openState({ path: file('gateway.db'), durability: 'normal' }),
    step,
  })
}

type Act = (gateway: TestFederation) => Promise<unknown>

/** One call of each kind that is told of. Before it there are `r0` to `r5` in `hot`, all of the session `s`. */
export const ACTS = {
  write: ({ federation }) =>
    federation.call(
      'memory/remember',
      {
        records: [
          { id: 'new', content: 'x' },
          { content: 'y', tier: 'cold' },
        ],
      },
      teller(),
    ),
  rewrite: ({ federation }) =>
    federation.call('memory/remember', { records: [{ content: 'z', key: 'k' }] }, teller()),
  forget: ({ federation }) => federation.call('memory/forget', { ids: ['r0', 'r1'] }, teller()),
  promote: ({ federation }) =>
    federation.call('memory/promote', { ids: ['r0', 'r1'], tier: 'cold' }, teller()),
  consolidate: ({ federation }) => federation.call('memory/consolidate', {}, teller()),
  close: ({ federation }) => federation.call('memory/session/close', { session: 's' }, teller()),
} as const satisfies Record<string, Act>

export type ActName = keyof typeof ACTS

/** What `ACTS` begin from. */
export async function prepare({ federation }: TestFederation): Promise<void> {
  const records = Array.from({ length: 6 }, (_, n) => ({
    id: `r${n}`,
    content: `note ${n}`,
    session: 's',
    ...(n === 5 ? { key: 'k' } : {}),
  }))
  await federation.call('memory/remember', { records }, teller())
}
