import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { EXTENSION } from '../../../src/protocol/extension.js'
import { meets } from '../../support/meets.js'
import { codeOf, contents, idsOf, OpenStore } from './open.js'

const QUIET = { [EXTENSION]: { quiet: true } }

function file(): string {
  const folder = mkdtempSync(join(tmpdir(), 'store-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return join(folder, 'vectors.db')
}

const space = async (store: OpenStore) => (await store.call('memory/describe', {})).embeddings

test(`vectors come back to the bit, and only where they are asked for ${meets('3.7/verbatim', '3.7/on-request', '3.7/not-replaced', '3.7/not-generated')}`, async () => {
  const store = new OpenStore()
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), { minLength: 5, maxLength: 5 }),
      async (embedding) => {
        await store.write({ key: 'k', content: 'x', embedding })
        const [kept] = await store.timeline({ embeddings: true })
        expect(kept?.embedding?.map((x) => Object.is(x, -0) || x)).toEqual(
          embedding.map((x) => Object.is(x, -0) || x),
        )
      },
    ),
  )
  const asked = { embeddings: true }
  expect((await store.recall({ query: 'x', ...asked }))[0]).toHaveProperty('embedding')
  expect((await store.call('memory/fetch', { key: 'k', ...asked })).record).toHaveProperty(
    'embedding',
  )
  for (const record of [
    ...(await store.timeline()),
    ...(await store.recall('x')),
    (await store.call('memory/fetch', { key: 'k' })).record,
  ]) {
    expect(record).not.toHaveProperty('embedding')
  }
})

test(`the first vector fixes the width for good, even when its record is gone ${meets('3.7/described')}`, async () => {
  const path = file()
  const store = new OpenStore({ path })
  expect(await space(store)).toMatchObject({ dimensions: null })
  await store.write('without one')
  expect(await space(store)).toMatchObject({ dimensions: null })
  await store.write({ content: 'x', embedding: [1, 2, 3] })
  await store.call('memory/forget', { query: 'x' })
  await store.memory.close()
  const again = new OpenStore({ path })
  expect(await space(again)).toMatchObject({ dimensions: 3 })
  expect(await codeOf(again.write({ content: 'y', embedding: [1, 2] }))).toBe(-32008)
  expect(await codeOf(again.recall({ embedding: [1, 2, 3, 4] }))).toBe(-32008)
  expect(await again.recall({ embedding: [1, 2, 3] })).toEqual([])
})

test.each([
  ['the second of two', [{ embedding: [1, 2] }, { embedding: [1] }]],
  ['one after one without', [{}, { embedding: [1, 2] }, { embedding: [1, 2, 3] }]],
  ['one whose id is there', [{ embedding: [1, 2] }, { id: 'there', embedding: [1] }]],
])(
  `a batch with a vector of another width writes nothing: %s ${meets('3.7/width', '7/embedding')}`,
  async (_, entries) => {
    const store = new OpenStore()
    await store.write({ id: 'there', content: 'there' })
    const records = entries.map((entry) => ({ content: 'new', ...entry }))
    expect(await codeOf(store.call('memory/remember', { records }))).toBe(-32008)
    expect(contents(await store.timeline())).toEqual(['there'])
    expect(await space(store)).toMatchObject({ dimensions: null })
  },
)

test('a query of any width finds nothing where no vector was ever written', async () => {
  const store = new OpenStore()
  await store.write('x')
  expect(await store.recall({ embedding: [1, 2, 3] })).toEqual([])
})

const POINTS = [
  { id: 'east', content: '', embedding: [10, 0] },
  { id: 'north', content: 'nothing', embedding: [0, 1] },
  { id: 'near', content: 'by', embedding: [2, 0.5] },
  { id: 'origin', content: 'zero', embedding: [0, 0] },
  { id: 'west', content: '', embedding: [-3, 0] },
]

test.each([
  ['cosine', ['east', 'near', 'north', 'west', 'origin']],
  ['dot', ['east', 'near', 'origin', 'north', 'west']],
  ['l2', ['origin', 'near', 'north', 'west', 'east']],
] as const)('by %s the nearest come first, records without a word too', async (metric, order) => {
  const store = new OpenStore({ metric })
  await store.write(...POINTS, 'no vector at all')
  expect(await space(store)).toEqual({ dimensions: 2, metric, metrics: ['cosine', 'dot', 'l2'] })
  const records = await store.recall({ embedding: [1, 0] })
  const scores = records.map(({ score = -1 }) => score)
  const found = idsOf(records)
  expect(found).toEqual(order)
  expect(scores).toEqual(scores.toSorted((left, right) => right - left))
  for (const score of scores) {
    expect(score).toBeGreaterThanOrEqual(0)
    expect(score).toBeLessThanOrEqual(1)
  }
  expect(idsOf(await store.recall({ embedding: [1, 0], limit: 2 }))).toEqual(found.slice(0, 2))
  expect(await store.recall({ embedding: [1, 0], limit: 0 })).toHaveLength(5)
})

test('a zero query under cosine finds all alike, and no score is NaN', async () => {
  const store = new OpenStore()
  await store.write(...POINTS)
  const records = await store.recall({ embedding: [0, 0] })
  expect(records.map(({ score }) => score)).toEqual([0, 0, 0, 0, 0])
})

test('the metric is kept in the file, until another is named', async () => {
  const path = file()
  const metricOf = async (metric?: 'dot' | 'l2', access?: 'read-only') => {
    const store = new OpenStore({ path, ...(metric && { metric }), ...(access && { access }) })
    const told = await space(store)
    await store.memory.close()
    return told?.metric
  }
  expect(await metricOf()).toBe('cosine')
  expect(await metricOf('dot')).toBe('dot')
  expect(await metricOf()).toBe('dot')
  expect(await metricOf('l2', 'read-only')).toBe('l2')
  expect(await metricOf()).toBe('dot')
})

test('what selects, selects before the comparison', async () => {
  const store = new OpenStore()
  await store.write(
    { id: 'a', content: 'a', embedding: [1, 0], owner: 'ann', key: 'p/a', session: 's' },
    { id: 'b', content: 'b', embedding: [1, 0.1], tier: 'semantic', role: 'tool' },
    { id: 'c', content: 'c', embedding: [1, 0.2], owner: 'ann', key: 'q/c' },
  )
  const found = async (params: object) =>
    idsOf(await store.recall({ embedding: [1, 0], limit: 1, ...params }))
  expect(await found({})).toEqual(['a'])
  expect(await found({ tier: 'semantic' })).toEqual(['b'])
  expect(await found({ where: { role: 'tool' } })).toEqual(['b'])
  expect(await found({ [EXTENSION]: { owner: null } })).toEqual(['b'])
  expect(await found({ key_prefix: 'q' })).toEqual(['c'])
  expect(await found({ where: { session: null }, owner: 'ann' })).toEqual(['c'])
  expect(await found({ where: { id: ['b', 'c'] } })).toEqual(['b'])
  expect(await found({ owner: 'eve' })).toEqual([])
})

test('where a vector is tested, it is', async () => {
  const store = new OpenStore()
  await store.write({ content: 'one', embedding: [1, 2] }, 'none')
  expect(contents(await store.timeline({ where: { embedding: null } }))).toEqual(['none'])
  expect(contents(await store.timeline({ where: { embedding: [[1, 2]] } }))).toEqual(['one'])
})

test('with text and vector both, both vote', async () => {
  const store = new OpenStore()
  await store.write(
    { id: 'text', content: 'red fox', embedding: [0, 1] },
    { id: 'vector', content: 'else', embedding: [1, 0] },
    { id: 'both', content: 'a fox that is red, and more', embedding: [1, 0.1] },
    { id: 'text only', content: 'red' },
    { id: 'neither', content: 'nothing' },
  )
  const records = await store.recall({ query: 'red fox', embedding: [1, 0], ...QUIET })
  const place = (id: string) => idsOf(records).indexOf(id)
  expect(place('both')).toBeLessThan(place('vector'))
  expect(place('both')).toBeLessThan(place('text only'))
  expect(idsOf(records).toSorted()).toEqual(['both', 'text', 'text only', 'vector'])
  const scores = records.map(({ score = -1 }) => score)
  expect(scores).toEqual(scores.toSorted((left, right) => right - left))
  expect(scores.every((score) => score > 0 && score <= 1)).toBe(true)
  for (const limit of [1, 2, 3]) {
    expect(await store.recall({ query: 'red fox', embedding: [1, 0], limit, ...QUIET })).toEqual(
      records.slice(0, limit),
    )
  }
})

test('first in both lists is a score of 1', async () => {
  const store = new OpenStore()
  await store.write({ content: 'red fox', embedding: [1, 0] }, { content: 'x', embedding: [0, 1] })
  const [best] = await store.recall({ query: 'red fox', embedding: [1, 0] })
  expect(best).toMatchObject({ content: 'red fox', score: 1 })
})

test('a vector goes where its record goes, and away with it', async () => {
  const store = new OpenStore()
  const nearest = async (params: object = {}) =>
    idsOf(await store.recall({ embedding: [1, 0], ...params, ...QUIET }))
  await store.write(
    { id: 'a', content: 'a', embedding: [1, 0] },
    { id: 'b', key: 'k', content: 'b', embedding: [1, 1] },
    { id: 'c', content: 'c', embedding: [0, 1] },
  )
  expect(await nearest()).toEqual(['a', 'b', 'c'])
  await store.call('memory/promote', { ids: ['a'], tier: 'semantic' })
  expect(await nearest({ tier: 'semantic' })).toEqual(['a'])
  expect(await nearest({ tier: 'working' })).toEqual(['b', 'c'])
  await store.write({ id: 'd', content: 'd', embedding: [2, 0.1], tier: 'semantic' })
  expect(await nearest()).toEqual(['a', 'd', 'b', 'c'])
  await store.write({ key: 'k', content: 'b', embedding: [0, -1] })
  expect(await nearest({ where: { tier: 'working' } })).toEqual(['c', 'b'])
  await store.write({ key: 'k', content: 'b' })
  expect(await nearest()).toEqual(['a', 'd', 'c'])
  await store.call('memory/forget', { ids: ['a'] })
  expect(await nearest()).toEqual(['d', 'c'])
  expect((await store.timeline({ where: { id: 'd' }, embeddings: true }))[0]?.embedding).toEqual([
    2, 0.1,
  ])
})

test('a search in memory finds what a search in the file would, whatever was done before', async () => {
  const id = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')
  const embedding = fc.array(fc.integer({ min: -3, max: 3 }), { minLength: 2, maxLength: 2 })
  const tier = fc.constantFrom('working', 'semantic')
  const step = fc.oneof(
    fc.record({ kind: fc.constant('write' as const), id, embedding, tier }),
    fc.record({ kind: fc.constant('forget' as const), id }),
    fc.record({ kind: fc.constant('move' as const), id, tier }),
    fc.record({ kind: fc.constant('fail' as const), id, embedding }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const path = file()
      const store = new OpenStore({ path, metric: 'dot' })
      const ask = (one: OpenStore) => one.recall({ embedding: [3, 1], limit: 0, ...QUIET })
      for (const one of steps) {
        if (one.kind === 'write') {
          await store.write({
            key: one.id,
            content: one.id,
            embedding: one.embedding,
            tier: one.tier,
          })
        } else if (one.kind === 'forget') {
          await store.call('memory/forget', { where: { key: one.id } })
        } else if (one.kind === 'move') {
          const ids = [...idsOf(await store.timeline({ where: { key: one.id } }))]
          await store.call('memory/promote', { ids, tier: one.tier })
        } else {
          const good = { key: one.id, content: 'no', embedding: one.embedding }
          const twin = { id: `${one.id}-2`, content: 'no', embedding: one.embedding }
          const bad = { ...twin, id: `${one.id}-3`, metadata: BROKEN }
          const records = [good, twin, bad]
          await expect(store.call('memory/remember', { records })).rejects.toThrow('broken')
        }
        await ask(store)
      }
      const cold = new OpenStore({ path, access: 'read-only', metric: 'dot' })
      expect(await ask(store)).toEqual(await ask(cold))
      await store.memory.close()
      await cold.memory.close()
    }),
    { numRuns: 30 },
  )
})

/** Breaks off a batch after its first entries were written, as a full disk would. */
const BROKEN = new Proxy(new (class {})(), {
  get: () => {
    throw new Error('broken')
  },
}) as never

test('what another process writes is found, and what it takes away is not', async () => {
  const path = file()
  const store = new OpenStore({ path })
  const other = new OpenStore({ path })
  await store.write({ id: 'a', content: 'a', embedding: [1, 0] })
  const found = async () => idsOf(await store.recall({ embedding: [1, 0], ...QUIET }))
  expect(await found()).toEqual(['a'])
  await other.write({ id: 'b', content: 'b', embedding: [1, 0.1] })
  expect(await found()).toEqual(['a', 'b'])
  await other.call('memory/forget', { ids: ['a'] })
  expect(await found()).toEqual(['b'])
  expect(await codeOf(other.write({ content: 'c', embedding: [1] }))).toBe(-32008)
})
