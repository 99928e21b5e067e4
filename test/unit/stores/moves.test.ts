import { expect, test } from 'vitest'
import { EXTENSION } from '../../../src/protocol/extension.js'
import { codeOf, contents, OpenStore } from './open.js'

const TIERS = [
  { name: 'working', capacity: 2, spill_to: 'episodic' },
  { name: 'episodic', capacity: 3, spill_to: 'semantic' },
  'semantic',
] as const

test('promote moves, counts what moved, and keeps everything else of a record', async () => {
  const store = new OpenStore()
  const [id = ''] = await store.write({ content: 'red fox', role: 'user' }, 'red hen')
  const before = await store.timeline({ where: { id } })
  const ids = [id, id, 'none']
  expect(await store.call('memory/promote', { ids, tier: 'semantic' })).toEqual({ promoted: 1 })
  expect(await store.call('memory/promote', { ids, tier: 'semantic' })).toEqual({ promoted: 0 })
  expect(await store.timeline({ tier: 'semantic' })).toEqual([{ ...before[0], tier: 'semantic' }])
  expect(contents(await store.recall({ query: 'red', tier: 'semantic' }))).toEqual(['red fox'])
  expect(contents(await store.recall({ query: 'red', tier: 'working' }))).toEqual(['red hen'])
  expect(await store.counts()).toMatchObject({ working: 1, semantic: 1 })
})

test('promote of nothing, and to an unknown tier', async () => {
  const store = new OpenStore()
  const [id = ''] = await store.write('x')
  expect(await store.call('memory/promote', { ids: [], tier: 'semantic' })).toEqual({ promoted: 0 })
  expect(await codeOf(store.call('memory/promote', { ids: [id], tier: 'nowhere' }))).toBe(-32002)
  expect(await store.counts()).toMatchObject({ working: 1, semantic: 0 })
})

test('a group moves whole, from every tier, and nobody else moves', async () => {
  const store = new OpenStore()
  const [first = '', second = ''] = await store.write(
    { content: 'call', group: 'g', owner: 'ann' },
    { content: 'result', group: 'g', owner: 'ann', tier: 'episodic' },
    { content: 'other group', group: 'h', owner: 'ann' },
    { content: 'of bob', group: 'g', owner: 'bob' },
    { content: 'of nobody', group: 'g' },
  )
  const promoted = await store.call('memory/promote', { ids: [first, second], tier: 'semantic' })
  expect(promoted).toEqual({ promoted: 2 })
  expect(contents(await store.timeline({ tier: 'semantic' }))).toEqual(['call', 'result'])
})

test('the rest of a group follows a member that is there already', async () => {
  const store = new OpenStore()
  const [there = ''] = await store.write(
    { content: 'there', group: 'g', tier: 'semantic' },
    { content: 'behind', group: 'g' },
  )
  const promote = () => store.call('memory/promote', { ids: [there], tier: 'semantic' })
  expect(await promote()).toEqual({ promoted: 1 })
  expect(await promote()).toEqual({ promoted: 0 })
})

test("an owner in the extension keeps promote from another owner's records of that id", async () => {
  const store = new OpenStore()
  await store.write({ id: 'a', content: 'x', owner: 'ann' }, { id: 'a', content: 'y' })
  const promote = (owner: string | null) =>
    store.call('memory/promote', { ids: ['a'], tier: 'semantic', [EXTENSION]: { owner } })
  expect(await promote('bob')).toEqual({ promoted: 0 })
  expect(await promote(null)).toEqual({ promoted: 1 })
  expect(contents(await store.timeline({ tier: 'semantic' }))).toEqual(['y'])
})

test('consolidate spills the oldest of each owner, and on through the chain', async () => {
  const store = new OpenStore({ tiers: [...TIERS].reverse() })
  for (let n = 1; n <= 7; n++) {
    await store.write({ content: `a${n}`, owner: 'ann', tier: 'working' })
    if (n <= 2) await store.write({ content: `b${n}`, owner: 'bob', tier: 'working' })
  }
  expect(await store.call('memory/consolidate', {})).toEqual({
    ...{ moved: 7, promoted: 0, dropped: 0, summarized: 0 },
    counts: { semantic: 2, episodic: 3, working: 4 },
  })
  const tierOf = async (tier: string) => contents(await store.timeline({ tier, owner: 'ann' }))
  expect(await tierOf('working')).toEqual(['a6', 'a7'])
  expect(await tierOf('episodic')).toEqual(['a3', 'a4', 'a5'])
  expect(await tierOf('semantic')).toEqual(['a1', 'a2'])
  expect((await store.call('memory/consolidate', {})).moved).toBe(0)
})

test('consolidate spills whole groups and no more than it must', async () => {
  const store = new OpenStore({ tiers: TIERS })
  await store.write(
    { content: '1', group: 'g' },
    { content: '2' },
    { content: '3', group: 'g' },
    { content: '4', group: 'g', tier: 'semantic' },
    { content: '5' },
  )
  const { moved } = await store.call('memory/consolidate', {})
  expect(moved).toBe(3)
  expect(contents(await store.timeline({ tier: 'working' }))).toEqual(['2', '5'])
  expect(contents(await store.timeline({ tier: 'episodic' }))).toEqual(['1', '3', '4'])
})

test('consolidate for one owner leaves the others, and counts that owner alone', async () => {
  const store = new OpenStore({ tiers: TIERS })
  for (const owner of ['ann', 'bob']) {
    await store.write(...['1', '2', '3'].map((content) => ({ content, owner })))
  }
  const done = await store.call('memory/consolidate', { [EXTENSION]: { owner: 'ann' } })
  expect(done).toMatchObject({ moved: 1, counts: { working: 2, episodic: 1, semantic: 0 } })
  expect(await store.counts({ owner: 'bob' })).toMatchObject({ working: 3, episodic: 0 })
})

test('a tier over capacity that spills nowhere keeps everything', async () => {
  const store = new OpenStore({ tiers: [{ name: 'only', capacity: 1 }] })
  await store.write('1', '2', '3')
  expect(await store.call('memory/consolidate', {})).toMatchObject({ moved: 0, dropped: 0 })
  expect(await store.timeline()).toHaveLength(3)
})
