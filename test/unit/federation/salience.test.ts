import { afterEach, describe, expect, test } from 'vitest'
import { EXTENSION } from '../../../src/protocol/extension.js'
import type { Memory } from '../../../src/protocol/memory.js'
import type { Capability } from '../../../src/protocol/methods.js'
import type { Entry, MemoryRecord } from '../../../src/protocol/records.js'
import {
  embeddedStore,
  openFederation,
  type TestFederation,
  tierConfig,
} from '../../support/federation.js'
import {
  anyContext,
  gatewayContext,
  observed,
  ownerContext,
} from '../../support/federation-contexts.js'
import { lesserStore } from '../../support/lesser-store.js'
import { Faulty } from '../../support/plain-memory.js'
import { until } from '../../support/waiting.js'

const open: TestFederation[] = []
afterEach(async () => {
  for (const fixture of open.splice(0)) await fixture.close()
})

const NAMES = ['one', 'two', 'archive'] as const
type Name = (typeof NAMES)[number]

interface Fixture extends TestFederation {
  readonly stores: { readonly [N in Name]: Faulty }
}

/** Two stores that are written to and one that is not. */
async function fixture(wrap: (memory: Memory) => Memory = (memory) => memory): Promise<Fixture> {
  const store = (tier: Name) => new Faulty(wrap(embeddedStore({ path: ':memory:', tiers: [tier] })))
  const stores = { one: store('one'), two: store('two'), archive: store('archive') }
  const made = await openFederation({
    upstreams: {
      one: { memory: stores.one },
      two: { memory: stores.two },
      archive: { memory: stores.archive, config: { access: 'read-only' } },
    },
    tiers: [tierConfig('one', 'one'), tierConfig('two', 'two'), tierConfig('archive', 'archive')],
  })
  open.push(made)
  return { ...made, stores }
}

const alice = () => ownerContext('alice')

async function write({ stores }: Fixture, name: Name, ...records: Entry[]): Promise<void> {
  const owned = records.map((entry) => ({ owner: 'alice', ...entry }))
  await stores[name].call('memory/remember', { records: owned }, anyContext())
}

/** How a record stands at a store, read without using it. */
async function at({ stores }: Fixture, name: Name): Promise<MemoryRecord[]> {
  return (await stores[name].call('memory/timeline', {}, anyContext())).records
}

const reinforce = (
  { federation }: Fixture,
  params: { ids: string[]; amount?: number },
  context = alice(),
) => federation.call('memory/reinforce', params, context)

describe('memory/reinforce', () => {
  test('reaches each record once wherever it lives, by any of its names', async () => {
    const made = await fixture()
    await write(made, 'one', { id: 'a', content: 'a' }, { id: 'b', content: 'b', salience: 3 })
    await write(made, 'two', { id: 'c', content: 'c' })
    const ids = ['a', 'a', 'b', 'two:c', 'c', 'nobody', 'one:nothing']
    expect(await reinforce(made, { ids, amount: 0.5 })).toEqual({ reinforced: 3 })
    expect(await at(made, 'one')).toMatchObject([{ salience: 1.5 }, { salience: 3.5 }])
    expect(await at(made, 'two')).toMatchObject([{ salience: 1.5 }])
    expect(await reinforce(made, { ids: ['nobody'] })).toEqual({ reinforced: 0 })
    expect(await reinforce(made, { ids: [] })).toEqual({ reinforced: 0 })
  })

  test('is by how much the upstream says, where the caller does not', async () => {
    const made = await fixture()
    await write(made, 'one', { id: 'a', content: 'a' })
    await reinforce(made, { ids: ['a'] })
    const [record] = await at(made, 'one')
    expect(record?.salience).toBeGreaterThan(1)
  })

  test('is nothing to records of others and to what only a read-only upstream holds', async () => {
    const made = await fixture()
    await write(made, 'one', { id: 'a', content: 'a', owner: 'bob' })
    await write(made, 'archive', { id: 'b', content: 'b' })
    await write(made, 'two', { id: 'c', content: 'c' })
    expect(await reinforce(made, { ids: ['a', 'b', 'c'], amount: 1 })).toEqual({ reinforced: 1 })
    expect((await at(made, 'one'))[0]?.salience ?? 1).toBe(1)
    expect((await at(made, 'archive'))[0]?.salience ?? 1).toBe(1)
    expect(await reinforce(made, { ids: ['a', 'c'] }, anyContext())).toEqual({ reinforced: 2 })
  })

  test('at an upstream that does not prove ownership goes by proven ids alone', async () => {
    const capabilities: Capability[] = ['core', 'tiers', 'scopes', 'salience']
    const made = await fixture((memory) => lesserStore(memory, capabilities))
    await write(made, 'one', { id: 'a', content: 'a' }, { id: 'b', content: 'b', owner: 'bob' })
    expect(await reinforce(made, { ids: ['a', 'b'], amount: 1 })).toEqual({ reinforced: 1 })
    const salience = (await at(made, 'one')).map((record) => record.salience ?? 1)
    expect(salience).toEqual([2, 1])
  })

  test('of one in two places counts one', async () => {
    const made = await fixture()
    await write(made, 'one', { id: 'a', content: 'a' })
    await write(made, 'two', { id: 'a', content: 'a' })
    expect(await reinforce(made, { ids: ['a'], amount: 1 })).toEqual({ reinforced: 1 })
    await write(made, 'two', { id: 'b', content: 'this' })
    await write(made, 'one', { id: 'b', content: 'that' })
    await expect(reinforce(made, { ids: ['b'] })).rejects.toMatchObject({ code: -32602 })
    expect(await reinforce(made, { ids: ['one:b'], amount: 1 })).toEqual({ reinforced: 1 })
    expect((await at(made, 'two')).map(({ salience = 1 }) => salience)).toEqual([2, 1])
  })

  test('is not begun while an upstream is silent, and says so where one does not confirm', async () => {
    const made = await fixture()
    await write(made, 'one', { id: 'a', content: 'a' })
    await write(made, 'two', { id: 'b', content: 'b' })
    made.stores.archive.fault = () => new Error('gone')
    expect(await reinforce(made, { ids: ['a'], amount: 1 })).toEqual({ reinforced: 1 })
    made.stores.two.fault = (method) =>
      method === 'memory/reinforce' ? new Error('gone') : undefined
    await expect(reinforce(made, { ids: ['a', 'b'], amount: 1 })).rejects.toMatchObject({
      data: { reinforced: 1, upstreams: ['two'], outcome: 'unknown' },
    })
    made.stores.two.fault = () => new Error('gone')
    await expect(reinforce(made, { ids: ['a'] })).rejects.toMatchObject({
      data: { outcome: 'not_sent' },
    })
  })
})

describe('use', () => {
  const talk = (name: string, count: number): Entry[] =>
    Array.from({ length: count }, (_, index) => ({
      id: `${name}${index}`,
      content: `apple ${name} ${index}`,
    }))

  async function used(made: Fixture): Promise<Record<string, number>> {
    const records = [...(await at(made, 'one')), ...(await at(made, 'two'))]
    const counted = records.filter(({ access_count = 0 }) => access_count > 0)
    return Object.fromEntries(counted.map(({ id, access_count = 0 }) => [id, access_count]))
  }

  const recall = ({ federation }: Fixture, params: object, context = alice()) =>
    federation.call('memory/recall', { query: 'apple', ...params }, context)

  test('is what went out, however wide was asked, and is told after the answer', async () => {
    const made = await fixture()
    await write(made, 'one', ...talk('one', 9))
    await write(made, 'two', ...talk('two', 9))
    const { context, asks } = observed(alice())
    const { records } = await recall(made, { limit: 3 }, context)
    expect(asks.every(({ method }) => method === 'memory/recall')).toBe(true)
    const once = Object.fromEntries(records.map(({ id }) => [id, 1]))
    await until(async () => Object.keys(await used(made)).length === 3)
    expect(await used(made)).toEqual(once)
    const [best] = records
    await recall(made, { limit: 1 })
    await until(async () => (await used(made))[best?.id ?? ''] === 2)
    expect(asks.filter(({ method }) => method === 'memory/reinforce').length).toBeGreaterThan(0)
    const [first] = (await at(made, 'one')).filter(({ id }) => once[id])
    expect(first?.salience ?? 1).toBe(1)
  })

  test('counts every time, also while an earlier telling is under way', async () => {
    const made = await fixture()
    await write(made, 'one', { id: 'a', content: 'apple' })
    await write(made, 'two', { id: 'b', content: 'pear' })
    await Promise.all(Array.from({ length: 20 }, () => recall(made, {})))
    await until(async () => (await used(made))['a'] === 20)
    expect(await used(made)).toEqual({ a: 20 })
  })

  test('is none when records are found in order to be forgotten, fell below the score, or a gateway says so', async () => {
    const made = await fixture()
    await write(made, 'one', ...talk('one', 2))
    await write(made, 'two', ...talk('two', 2))
    const quiet = gatewayContext(alice())
    await recall(made, { [EXTENSION]: { owner: 'alice', quiet: true } }, quiet)
    await recall(made, { min_score: 1.1 })
    const forgetting = { query: 'apple', ids: ['one0'] }
    await made.federation.call('memory/forget', forgetting, alice())
    const telling = { ids: ['one1'], amount: 0, [EXTENSION]: { owner: 'alice', used: true } }
    expect(await made.federation.call('memory/reinforce', telling, quiet)).toEqual({
      reinforced: 1,
    })
    expect(await used(made)).toEqual({ one1: 1 })
  })

  test('is told before a record moves, so that the count goes along', async () => {
    const made = await fixture()
    await write(made, 'one', { id: 'a', content: 'apple' })
    await recall(made, {})
    await made.federation.call('memory/promote', { ids: ['a'], tier: 'two' }, alice())
    expect(await at(made, 'two')).toMatchObject([{ id: 'a', access_count: 1 }])
  })

  test('costs no ask where nobody counts it, and no answer where it cannot be told', async () => {
    const bare = await fixture((memory) => lesserStore(memory, ['core', 'tiers', 'scopes']))
    await write(bare, 'one', { id: 'a', content: 'apple' })
    const { context, asks } = observed(alice())
    await recall(bare, {}, context)
    await bare.federation.close()
    expect(new Set(asks.map(({ method }) => method))).toEqual(new Set(['memory/recall']))
    const made = await fixture()
    await write(made, 'one', { id: 'a', content: 'apple' })
    made.stores.one.fault = (method) =>
      method === 'memory/reinforce' ? new Error('gone') : undefined
    const { records } = await recall(made, {})
    await made.federation.close()
    expect(records.map(({ id }) => id)).toEqual(['a'])
  })
})
