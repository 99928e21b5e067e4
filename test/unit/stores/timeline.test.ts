import { expect, test } from 'vitest'
import { EXTENSION } from '../../../src/protocol/extension.js'
import { contents, OpenStore } from './open.js'

test('order of creation, oldest first; of one instant, order of writing', async () => {
  const store = new OpenStore()
  const carried = ['2020-01-02T00:00:00Z', '2020-01-01T00:00:00Z', '2020-01-02T00:00:00Z']
  await store.call('memory/remember', {
    records: [{ content: 'b1' }, { content: 'a' }, { content: 'b2' }],
    [EXTENSION]: { carried: carried.map((created_at) => ({ created_at })) },
  })
  expect(contents(await store.timeline())).toEqual(['a', 'b1', 'b2'])
})

test('a limit gives the newest, still oldest first; 0 and none give all', async () => {
  const store = new OpenStore()
  await store.write('1', '2', '3', '4')
  expect(contents(await store.timeline({ limit: 2 }))).toEqual(['3', '4'])
  expect(contents(await store.timeline({ limit: 0 }))).toEqual(['1', '2', '3', '4'])
  expect(contents(await store.timeline({ limit: 9 }))).toEqual(['1', '2', '3', '4'])
})

test('the limit counts what the filters leave, over several tiers and owners', async () => {
  const store = new OpenStore()
  for (let n = 0; n < 12; n++) {
    const tier = n % 2 === 0 ? 'working' : 'semantic'
    const role = n % 3 === 0 ? 'user' : 'tool'
    await store.write({ content: `${n}`, tier, role, ...(n < 6 ? { owner: 'ann' } : {}) })
  }
  expect(contents(await store.timeline({ limit: 2, where: { role: 'user' } }))).toEqual(['6', '9'])
  expect(contents(await store.timeline({ limit: 2, tier: 'semantic' }))).toEqual(['9', '11'])
  expect(contents(await store.timeline({ limit: 2, owner: 'ann' }))).toEqual(['4', '5'])
  expect(contents(await store.timeline({ owner: 'ann', tier: 'working' }))).toEqual(['0', '2', '4'])
  expect(contents(await store.timeline({ owner: 'eve' }))).toEqual([])
})
