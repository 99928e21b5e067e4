import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EXTENSION } from '../../../src/protocol/extension.js'
import { JsonText } from '../../../src/protocol/json.js'
import { anyText } from '../../support/any-text.js'
import { meets } from '../../support/meets.js'
import { codeOf, contents, idsOf, OpenStore } from './open.js'

const fetched = async (store: OpenStore, key: string, owner?: string) =>
  (await store.call('memory/fetch', { key, owner })).record

test(`a write to an occupied key takes its place: id and age stay, all else is new ${meets('3.6/replacement')}`, async () => {
  const store = new OpenStore()
  const first = {
    ...{ key: 'user/city', content: 'Paris', role: 'user', group: 'g', session: 's' },
    ...{ metadata: new JsonText('{"a":1}'), embedding: [1, 2], uri: 'a:b', media_type: 'text/x' },
    ...{ tier: 'semantic', salience: 3 },
  }
  const [id] = await store.write(first)
  const [before] = await store.timeline()
  expect(before).toMatchObject({ id, key: 'user/city', revision: 0 })
  expect(await store.write({ key: 'user/city', content: 'Rome', id: 'another' })).toEqual([id])
  expect(await store.timeline({ embeddings: true })).toEqual([
    {
      ...{ id, key: 'user/city', revision: 1, content: 'Rome', tier: 'semantic' },
      ...{ created_at: before?.created_at, salience: 3, access_count: 0 },
    },
  ])
  expect(contents(await store.recall('rome'))).toEqual(['Rome'])
  expect(await store.recall('paris')).toEqual([])
  expect(await store.recall({ embedding: [1, 2] })).toEqual([])
  expect(await store.timeline({ where: { session: 's' } })).toEqual([])
  expect(await store.counts()).toMatchObject({ semantic: 1, working: 0 })
})

test('a replacement may say everything again', async () => {
  const store = new OpenStore()
  await store.write({ key: 'k', content: 'old' })
  const entry = {
    ...{ key: 'k', content: 'new', role: 'tool', group: 'g', session: 's', salience: 2 },
    ...{ metadata: new JsonText('{"b":2.0}'), embedding: [3, 4], uri: 'c:d', media_type: 'm' },
  }
  await store.write(entry)
  const [record] = await store.timeline({ embeddings: true })
  expect(record).toMatchObject({ ...entry, revision: 1, tier: 'working' })
})

test(`each write to a key is one revision, in a batch and out of it ${meets('3.6/replacement')}`, async () => {
  const store = new OpenStore()
  const records = ['a', 'b', 'c'].map((content) => ({ key: 'k', content }))
  const { ids } = await store.call('memory/remember', { records })
  expect(new Set(ids).size).toBe(1)
  expect(await fetched(store, 'k')).toMatchObject({ content: 'c', revision: 2, id: ids[0] })
  await store.write({ key: 'k', content: 'd' })
  expect(await fetched(store, 'k')).toMatchObject({ content: 'd', revision: 3 })
  expect(await store.counts()).toMatchObject({ working: 1 })
})

test('an existing id wins over a key, and neither record changes', async () => {
  const store = new OpenStore()
  await store.write({ id: 'a', content: 'plain' }, { id: 'b', key: 'k', content: 'keyed' })
  expect(await store.write({ id: 'a', key: 'k', content: 'no' })).toEqual(['a'])
  expect(await store.write({ id: 'b', key: 'k', content: 'no' })).toEqual(['b'])
  expect(await store.write({ id: 'b', key: 'other', content: 'no' })).toEqual(['b'])
  expect(contents(await store.timeline())).toEqual(['plain', 'keyed'])
  expect(await fetched(store, 'k')).toMatchObject({ id: 'b', revision: 0 })
  expect(await fetched(store, 'other')).toBeNull()
})

test('a tier that is named moves the record, its group with it; none named leaves it', async () => {
  const store = new OpenStore()
  await store.write(
    { key: 'k', content: 'v0', group: 'g', tier: 'semantic' },
    { content: 'with it', group: 'g', tier: 'semantic' },
    { content: 'not with it', tier: 'semantic' },
  )
  await store.write({ key: 'k', content: 'v1', group: 'g' })
  expect((await fetched(store, 'k'))?.tier).toBe('semantic')
  await store.write({ key: 'k', content: 'v2', group: 'g', tier: 'episodic' })
  expect(contents(await store.timeline({ tier: 'episodic' }))).toEqual(['v2', 'with it'])
  await store.write({ key: 'k', content: 'v3', tier: 'working' })
  expect(contents(await store.timeline({ tier: 'working' }))).toEqual(['v3'])
  expect(contents(await store.timeline({ tier: 'episodic' }))).toEqual(['with it'])
  expect((await fetched(store, 'k'))?.revision).toBe(3)
})

test(`two owners and nobody each have a key of their own ${meets('3.6/per-owner')}`, async () => {
  const store = new OpenStore()
  await store.write(
    { key: 'k', content: 'of ann', owner: 'ann' },
    { key: 'k', content: 'of bob', owner: 'bob' },
    { key: 'k', content: 'again of bob', owner: 'bob' },
  )
  expect(await fetched(store, 'k', 'ann')).toMatchObject({ content: 'of ann', revision: 0 })
  expect(await fetched(store, 'k', 'bob')).toMatchObject({ content: 'again of bob', revision: 1 })
  expect(await fetched(store, 'k', 'eve')).toBeNull()
  expect(await codeOf(fetched(store, 'k'))).toBe(-32602)
  await store.write({ key: 'k', content: 'of nobody' })
  expect(await fetched(store, 'k')).toMatchObject({ content: 'of nobody' })
  const nobodys = await store.call('memory/fetch', { key: 'k', [EXTENSION]: { owner: null } })
  expect(nobodys.record?.content).toBe('of nobody')
  await store.write({ key: 'only', content: 'of ann alone', owner: 'ann' })
  expect(await fetched(store, 'only')).toMatchObject({ content: 'of ann alone' })
})

test('a key is free again once its record is forgotten, and counts anew', async () => {
  const store = new OpenStore()
  await store.write({ key: 'k', content: 'a' }, { key: 'k', content: 'b' })
  expect(await store.call('memory/forget', { key_prefix: 'k' })).toEqual({ forgotten: 1 })
  expect(await fetched(store, 'k')).toBeNull()
  await store.write({ key: 'k', content: 'c' })
  expect(await fetched(store, 'k')).toMatchObject({ content: 'c', revision: 0 })
})

test('a carried revision is a floor', async () => {
  const store = new OpenStore()
  const remember = (key: string, revision: number) =>
    store.call('memory/remember', {
      records: [{ key, content: `${revision}` }],
      [EXTENSION]: { carried: [{ revision, created_at: '2020-01-01T00:00:00.000Z' }] },
    })
  await remember('k', 7)
  expect((await fetched(store, 'k'))?.revision).toBe(7)
  await remember('k', 3)
  expect((await fetched(store, 'k'))?.revision).toBe(8)
  await remember('k', 20)
  expect((await fetched(store, 'k'))?.revision).toBe(20)
  await store.write({ key: 'k', content: 'x' })
  expect((await fetched(store, 'k'))?.revision).toBe(21)
})

test('a record without a key has no revision, whatever was carried', async () => {
  const store = new OpenStore()
  await store.call('memory/remember', {
    records: [{ content: 'x' }],
    [EXTENSION]: { carried: [{ revision: 4 }] },
  })
  expect((await store.timeline())[0]).not.toHaveProperty('revision')
})

const KEYS = ['wf/1', 'wf/1/x', 'wf/1/x/y', 'wf/10', 'wf', 'other', 'wf/1-a', 'WF/1/z']

test.each([
  ['wf/1', ['wf/1', 'wf/1/x', 'wf/1/x/y']],
  ['wf/1/', ['wf/1', 'wf/1/x', 'wf/1/x/y']],
  ['wf', ['wf/1', 'wf/1/x', 'wf/1/x/y', 'wf/10', 'wf', 'wf/1-a']],
  ['wf/1/x/y/z', []],
  ['', undefined],
])(
  `the prefix %j selects the same everywhere ${meets('3.6/prefix')}`,
  async (key_prefix, expected) => {
    const store = new OpenStore()
    await store.write(...KEYS.map((key) => ({ key, content: key })), { content: 'without' })
    const all = expected ?? [...KEYS, 'without']
    expect(contents(await store.timeline({ key_prefix }))).toEqual(all)
    const recalled = await store.recall({ key_prefix, limit: 0 })
    expect(contents(recalled).toSorted()).toEqual(all.toSorted())
    if (expected === undefined) return
    const found = await store.recall({ key_prefix, query: 'wf other without', limit: 0 })
    expect(contents(found).toSorted()).toEqual(expected.toSorted())
    const forgotten = await store.call('memory/forget', { key_prefix })
    expect(forgotten).toEqual({ forgotten: expected.length })
  },
)

test('a prefix keeps to the owner and joins the other selectors', async () => {
  const store = new OpenStore()
  await store.write(
    { key: 'p/a', content: 'a', owner: 'ann', role: 'user' },
    { key: 'p/b', content: 'b', owner: 'ann', tier: 'semantic' },
    { key: 'p/a', content: 'c', owner: 'bob' },
  )
  const found = async (params: object) =>
    contents(await store.timeline({ key_prefix: 'p', ...params }))
  expect(await found({})).toEqual(['a', 'b', 'c'])
  expect(await found({ owner: 'ann' })).toEqual(['a', 'b'])
  expect(await found({ owner: 'ann', tier: 'semantic' })).toEqual(['b'])
  expect(await found({ where: { role: 'user' } })).toEqual(['a'])
  expect(await found({ where: { key: ['p/a', 'x'] } })).toEqual(['a', 'c'])
  const forgotten = await store.call('memory/forget', { key_prefix: 'p', owner: 'bob' })
  expect(forgotten).toEqual({ forgotten: 1 })
})

test('more records beneath a prefix than are looked at one by one are found all the same', async () => {
  const store = new OpenStore()
  const records = Array.from({ length: 1300 }, (_, n) => ({ key: `p/${n}`, content: `note ${n}` }))
  await store.call('memory/remember', { records: [...records, { content: 'note of none' }] })
  expect(await store.recall({ key_prefix: 'p', query: 'note', limit: 0 })).toHaveLength(1300)
  expect(await store.timeline({ key_prefix: 'p' })).toHaveLength(1300)
  const [best] = await store.recall({ key_prefix: 'p', query: 'note 1234' })
  expect(best?.key).toBe('p/1234')
})

test.each([
  [{ key: 'k' }, ['keyed']],
  [{ key: ['k', 'none', 5] }, ['keyed']],
  [{ key: null }, ['plain']],
  [{ key: [null, 'k'] }, ['keyed', 'plain']],
  [{ key: 5 }, []],
  [{ revision: 0 }, ['keyed']],
  [{ revision: null }, ['plain']],
])('where %j', async (where, expected) => {
  const store = new OpenStore()
  await store.write({ key: 'k', content: 'keyed' }, 'plain')
  expect(contents(await store.timeline({ where }))).toEqual(expected)
})

test('any key is an address, to the letter', async () => {
  const store = new OpenStore()
  const odd = [
    '..',
    ' ',
    '\u0000',
    'a/',
    '/a',
    'a//b',
    'é',
    'e\u0301',
    'x'.repeat(10_000),
    '%',
    '_',
  ]
  for (const key of odd) {
    const [id = ''] = await store.write({ key, content: `at ${key.slice(0, 9)}` })
    expect(await fetched(store, key)).toMatchObject({ id, key, revision: 0 })
    expect(idsOf(await store.timeline({ key_prefix: key }))).toContain(id)
  }
  expect(new Set((await store.timeline()).map(({ key }) => key))).toEqual(new Set(odd))
})

test('prefixes select as a plain list would, whatever the keys are', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.oneof(anyText(1, 6), fc.stringMatching(/^[ab/]{1,5}$/)), { maxLength: 12 }),
      fc.stringMatching(/^[ab/]{1,3}$/),
      async (keys, key_prefix) => {
        const store = new OpenStore()
        await store.write(...keys.map((key) => ({ key, content: key })))
        const base = key_prefix.replace(/\/$/, '')
        const covered = keys.filter((key) => key === base || key.startsWith(`${base}/`))
        expect(contents(await store.timeline({ key_prefix }))).toEqual(covered)
      },
    ),
    { numRuns: 60 },
  )
})
