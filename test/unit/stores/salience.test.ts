import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { EXTENSION } from '../../../src/protocol/extension.js'
import { openDatabase } from '../../../src/stores/database.js'
import { codeOf, contents, OpenStore } from './open.js'

const QUIET = { [EXTENSION]: { quiet: true } }

/** What each record is worth and how it was used, oldest first. */
async function uses(store: OpenStore) {
  return (await store.timeline()).map((one) => [one.salience, one.access_count, one.accessed_at])
}

const at = (ms: number) => new Date(Date.UTC(2026, 0, 1) + ms).toISOString()

test('a salience is 1 unless written', async () => {
  const store = new OpenStore()
  await store.write('usual', { content: 'dear', salience: 2.5 }, { content: 'none', salience: 0 })
  expect(await uses(store)).toEqual([
    [1, 0, undefined],
    [2.5, 0, undefined],
    [0, 0, undefined],
  ])
  expect(contents(await store.timeline({ where: { salience: [1, 0] } }))).toEqual(['usual', 'none'])
  expect(contents(await store.timeline({ where: { accessed_at: null } }))).toHaveLength(3)
})

test('reinforce adds to each record once, and never goes below 0', async () => {
  const store = new OpenStore()
  const [a = '', b = ''] = await store.write('a', 'b', 'c')
  const reinforce = (params: { ids: string[]; amount?: number }) =>
    store.call('memory/reinforce', params)
  expect(await reinforce({ ids: [a, a, b, 'none'] })).toEqual({ reinforced: 2 })
  expect(await reinforce({ ids: [a], amount: 0.5 })).toEqual({ reinforced: 1 })
  expect((await uses(store)).map(([salience]) => salience)).toEqual([2.5, 2, 1])
  expect(await reinforce({ ids: [a, b], amount: -2.25 })).toEqual({ reinforced: 2 })
  expect((await uses(store)).map(([salience]) => salience)).toEqual([0.25, 0, 1])
  expect(await reinforce({ ids: [] })).toEqual({ reinforced: 0 })
  expect(await reinforce({ ids: [a], amount: 1e308 })).toEqual({ reinforced: 1 })
  expect(await reinforce({ ids: [a], amount: Number.MAX_VALUE })).toEqual({ reinforced: 1 })
  expect((await uses(store))[0]?.[0]).toBe(Number.MAX_VALUE)
  expect((await uses(store)).map(([, count]) => count)).toEqual([0, 0, 0])
})

test('reinforce keeps to the owner in the extension', async () => {
  const store = new OpenStore()
  await store.write(
    { id: 'i', content: 'ann', owner: 'ann' },
    { id: 'i', content: 'bob', owner: 'bob' },
  )
  const reinforce = (owner?: string) =>
    store.call('memory/reinforce', {
      ids: ['i'],
      ...(owner === undefined ? {} : { [EXTENSION]: { owner } }),
    })
  expect(await reinforce('ann')).toEqual({ reinforced: 1 })
  expect(await reinforce('eve')).toEqual({ reinforced: 0 })
  expect((await uses(store)).map(([salience]) => salience)).toEqual([2, 1])
  expect(await reinforce()).toEqual({ reinforced: 2 })
})

test('what a recall gives out is used, and what it does not is not', async () => {
  const store = new OpenStore()
  await store.write('red fox', 'red hen', 'blue ant')
  store.now += 50
  const [given] = await store.recall({ query: 'red fox', limit: 1 })
  expect(given).toMatchObject({ content: 'red fox', access_count: 0 })
  expect(await uses(store)).toEqual([
    [1, 1, at(53)],
    [1, 0, undefined],
    [1, 0, undefined],
  ])
  store.now += 10
  await store.recall({ query: 'red', min_score: 2 })
  await store.recall({ query: 'nothing of that' })
  await store.timeline()
  expect((await uses(store))[0]).toEqual([1, 1, at(53)])
  await store.recall({})
  expect((await uses(store)).map(([, count]) => count)).toEqual([2, 1, 1])
})

test('a fetch is a use, a quiet one and a quiet recall are none', async () => {
  const store = new OpenStore()
  await store.write({ key: 'k', content: 'x' })
  await store.call('memory/fetch', { key: 'k', ...QUIET })
  await store.recall({ query: 'x', ...QUIET })
  expect(await uses(store)).toEqual([[1, 0, undefined]])
  await store.call('memory/fetch', { key: 'k' })
  await store.call('memory/fetch', { key: 'other' })
  expect(await uses(store)).toEqual([[1, 1, at(1)]])
})

test('a recall that fails counts nothing, then or later', async () => {
  const store = new OpenStore()
  await store.write({ content: 'x', embedding: [1] })
  expect(await codeOf(store.recall({ embedding: [1, 2] }))).toBe(-32008)
  await store.timeline()
  expect((await uses(store))[0]?.[1]).toBe(0)
})

test('what a gateway says was used is used, and worth more only by an amount', async () => {
  const store = new OpenStore()
  const ids = [...(await store.write('a', 'b'))]
  const used = { [EXTENSION]: { used: true } }
  store.now += 7
  expect(await store.call('memory/reinforce', { ids, ...used })).toEqual({ reinforced: 2 })
  expect(await store.call('memory/reinforce', { ids, amount: 2, ...used })).toEqual({
    reinforced: 2,
  })
  expect(await uses(store)).toEqual([
    [3, 2, at(9)],
    [3, 2, at(9)],
  ])
})

test('use that was carried is taken over, and grows from there', async () => {
  const store = new OpenStore()
  await store.call('memory/remember', {
    records: [{ content: 'x' }],
    [EXTENSION]: { carried: [{ access_count: 5, accessed_at: '2027-01-01T00:00:00.000Z' }] },
  })
  await store.recall('x')
  expect(await uses(store)).toEqual([[1, 6, '2027-01-01T00:00:00.000Z']])
})

test('promote adds to the salience of what arrives, the group included', async () => {
  const store = new OpenStore()
  const [id = '', there = ''] = await store.write(
    { content: 'a', group: 'g' },
    { content: 'there', tier: 'semantic' },
    { content: 'b', group: 'g', salience: 3 },
    'c',
  )
  const params = { ids: [id, there], tier: 'semantic', salience: 0.5 }
  expect(await store.call('memory/promote', params)).toEqual({ promoted: 2 })
  expect((await uses(store)).map(([salience]) => salience)).toEqual([1.5, 1, 3.5, 1])
})

test('in a read-only store nothing is counted, and the file stays as it is', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'store-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'facts.db')
  const writer = new OpenStore({ path })
  await writer.write({ key: 'k', content: 'x' })
  const reader = new OpenStore({ path, access: 'read-only' })
  await reader.recall('x')
  expect((await reader.call('memory/fetch', { key: 'k' })).record?.access_count).toBe(0)
  expect(await uses(writer)).toEqual([[1, 0, undefined]])
  expect(await codeOf(reader.call('memory/reinforce', { ids: ['x'] }))).toBe(-32004)
})

test('a recall is answered while another holds the file, and goes uncounted', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'store-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'facts.db')
  const store = new OpenStore({ path, durability: 'full' })
  await store.write('x')
  const other = openDatabase({ path })
  onTestFinished(() => {
    other.close()
  })
  other.exec('BEGIN IMMEDIATE')
  expect(contents(await store.recall('x'))).toEqual(['x'])
  other.exec('COMMIT')
  expect(await uses(store)).toEqual([[1, 0, undefined]])
  await store.recall('x')
  expect((await uses(store))[0]?.[1]).toBe(1)
})

const EARNING = [
  { name: 'working', kind: 'working' },
  { name: 'episodic', promote_to: 'semantic', promote_after: 2 },
  { name: 'semantic' },
]

test('consolidate promotes what was used often enough, groups whole, and nothing else', async () => {
  const store = new OpenStore({ tiers: EARNING })
  await store.write(
    { content: 'often', group: 'g', tier: 'episodic' },
    { content: 'beside', group: 'g', tier: 'episodic' },
    { content: 'once', tier: 'episodic' },
    { content: 'often elsewhere', tier: 'working' },
  )
  for (let times = 0; times < 2; times++) await store.recall('often')
  await store.recall('once')
  expect(await store.call('memory/consolidate', {})).toMatchObject({ promoted: 2, moved: 0 })
  expect(contents(await store.timeline({ tier: 'semantic' }))).toEqual(['often', 'beside'])
  expect(await store.call('memory/consolidate', {})).toMatchObject({ promoted: 0 })
})

test('what has earned it is promoted before the rest spills', async () => {
  const tiers = [
    { name: 'a', capacity: 1, spill_to: 'c', promote_to: 'b', promote_after: 1 },
    ...['b', 'c'],
  ]
  const store = new OpenStore({ tiers })
  await store.write('used', 'old', 'new')
  await store.recall({ query: 'used' })
  const done = await store.call('memory/consolidate', {})
  expect(done).toMatchObject({ promoted: 1, moved: 1, counts: { a: 1, b: 1, c: 1 } })
  expect(contents(await store.timeline({ tier: 'b' }))).toEqual(['used'])
  expect(contents(await store.timeline({ tier: 'c' }))).toEqual(['old'])
})

const DAY = 86_400_000
const FADING = [{ name: 'a', capacity: 2, spill_to: 'b', half_life: DAY / 1000 }, 'b']

test('with a half-life the lightest spill first: by salience, by age, by last use', async () => {
  const store = new OpenStore({ tiers: FADING })
  await store.write({ content: 'old and dear', salience: 9 })
  await store.write('old and used')
  store.now += 2 * DAY
  await store.write({ content: 'new and worthless', salience: 0.1 }, 'new')
  store.now += DAY / 2
  await store.recall({ query: 'used', limit: 1 })
  await store.call('memory/consolidate', {})
  expect(contents(await store.timeline({ tier: 'b' }))).toEqual(['new and worthless', 'new'])
})

test('a group is worth what its heaviest member is', async () => {
  const store = new OpenStore({ tiers: FADING })
  await store.write(
    { content: 'weak alone', salience: 0.5 },
    { content: 'weak in a group', salience: 0.1, group: 'g' },
    { content: 'strong in a group', salience: 5, group: 'g' },
  )
  expect(await store.call('memory/consolidate', {})).toMatchObject({ moved: 1 })
  expect(contents(await store.timeline({ tier: 'b' }))).toEqual(['weak alone'])
})

test('with a half-life and per session, each session keeps its heaviest', async () => {
  const tiers = [{ name: 'a', capacity: 1, spill_to: 'b', half_life: 60, per_session: true }, 'b']
  const store = new OpenStore({ tiers })
  await store.write(
    { content: 's strong', session: 's', salience: 4 },
    { content: 's weak', session: 's' },
    { content: 'strong', salience: 2 },
    'weak',
  )
  expect(await store.call('memory/consolidate', {})).toMatchObject({ moved: 2 })
  expect(contents(await store.timeline({ tier: 'b' }))).toEqual(['s weak', 'weak'])
})
