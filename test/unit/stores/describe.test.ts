import { expect, test } from 'vitest'
import { withContract } from '../../../src/protocol/contract.js'
import { EXTENSION } from '../../../src/protocol/extension.js'
import type { Scope } from '../../../src/protocol/memory.js'
import { SCHEMAS } from '../../../src/protocol/schemas.js'
import { withScope } from '../../../src/protocol/scope.js'
import { storeContract } from '../../../src/stores/store.js'
import { tiersOf } from '../../../src/stores/tiers.js'
import { contextWithin } from '../../support/contexts.js'
import { codeOf, OpenStore } from './open.js'

test('a store tells what it is', async () => {
  const limits = { max_records_per_call: 9 }
  const tiers = ['working', { name: 'notes', kind: 'semantic', capacity: 5 }]
  const store = new OpenStore({ name: 'facts', tiers, limits })
  await store.write('x', { content: 'y', owner: 'ann', tier: 'notes' })
  const description = await store.call('memory/describe', {})
  expect(SCHEMAS['memory/describe'].result.parse(description)).toEqual(description)
  expect(description).toEqual({
    ...{ protocol: 'a2m/0.1', name: 'facts', limits },
    capabilities: [
      ...['core', 'tiers', 'salience', 'scopes'],
      ...['sessions', 'keys', 'embeddings', 'external'],
    ],
    methods: [
      ...['describe', 'remember', 'recall', 'timeline', 'forget', 'promote', 'consolidate'],
      ...['reinforce', 'fetch', 'session/list', 'session/close'],
    ].map((name) => `memory/${name}`),
    tiers: [
      { name: 'working', kind: 'working', count: 1 },
      { name: 'notes', kind: 'semantic', capacity: 5, count: 1 },
    ],
    embeddings: { dimensions: null, metric: 'cosine', metrics: ['cosine', 'dot', 'l2'] },
    [EXTENSION]: { version: 1 },
  })
})

test('counts are those of the owner asked for', async () => {
  const store = new OpenStore()
  await store.write('x', { content: 'y', owner: 'ann' }, { content: 'z', owner: 'ann' })
  expect(await store.counts()).toMatchObject({ working: 3 })
  expect(await store.counts({ owner: 'ann' })).toMatchObject({ working: 2 })
  expect(await store.counts({ [EXTENSION]: { owner: null } })).toMatchObject({ working: 1 })
  expect(await store.counts({ owner: 'eve' })).toMatchObject({ working: 0 })
})

test('a method of an undeclared capability is refused as such', async () => {
  const store = new OpenStore()
  expect(await codeOf(store.call('memory/summarize', { query: 'x' }))).toBe(-32003)
  expect(await codeOf(store.call('memory/events', {}))).toBe(-32003)
})

test.each([
  [{ kind: 'all' }, true],
  [{ kind: 'owners', owners: ['ann'] }, true],
  [{ kind: 'ownerless' }, false],
] as const satisfies readonly (readonly [Scope, boolean])[])(
  'to a scope of %j, scopes are promised: %s',
  async (scope, promised) => {
    const store = new OpenStore()
    const served = withContract(withScope(store.memory, 'deny'), storeContract({ path: '' }))
    const context = contextWithin(1000)
    const caller = { ...context.caller, scope }
    const { capabilities } = await served.call('memory/describe', {}, { ...context, caller })
    expect(capabilities.includes('scopes')).toBe(promised)
  },
)

test('a read-only contract refuses writes before anything else', () => {
  const contract = storeContract({ path: '', access: 'read-only' })(contextWithin(1))
  expect(contract.readOnly).toBe(true)
})

test.each([
  [[], /at least one/],
  [['a', 'a'], /name of its own/],
  [[''], /name of its own/],
  [[{ name: 'a', spill_to: 'b' }], /spills to b/],
  [[{ name: 'a', spill_to: 'a' }], /circle/],
  [['c', { name: 'a', spill_to: 'b' }, { name: 'b', spill_to: 'a' }], /circle/],
  [[{ name: 'a', promote_to: 'b', promote_after: 1 }], /promotes to b/],
  [['c', { name: 'a', promote_to: 'b' }, { name: 'b', promote_to: 'a' }], /promotes in a circle/],
  [['procedural', { name: 'a', spill_to: 'procedural' }], /nothing spills into procedures/],
  [['b', { name: 'a', promote_to: 'b', promote_after: 0 }], /promote_after/],
  [[{ name: 'a', half_life: 0 }], /half_life/],
  [[{ name: 'a', half_life: Number.NaN }], /half_life/],
])('tiers %j are refused', (tiers, message) => {
  expect(() => tiersOf({ path: '', tiers })).toThrow(message)
})

test('a closed store answers nothing, and may be closed again', async () => {
  const store = new OpenStore()
  await store.memory.close()
  await store.memory.close()
  await expect(store.call('memory/timeline', {})).rejects.toMatchObject({ kind: 'unavailable' })
})
