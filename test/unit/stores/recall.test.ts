import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EXTENSION } from '../../../src/protocol/extension.js'
import { JsonText } from '../../../src/protocol/json.js'
import { anyText } from '../../support/any-text.js'
import { meets } from '../../support/meets.js'
import { codeOf, contents, OpenStore } from './open.js'

/** Leaves records as unused as they were. */
const QUIET = { [EXTENSION]: { quiet: true } }

test('the more and the rarer the words a record shares, the earlier it stands', async () => {
  const store = new OpenStore()
  await store.write(
    'the key is under the mat',
    'the deploy key rotates every ninety days',
    'nothing of interest here',
    'days and days and days of rain',
  )
  const records = await store.recall('How often is the deploy key rotated?')
  expect(contents(records)[0]).toBe('the deploy key rotates every ninety days')
  expect(contents(records)).not.toContain('nothing of interest here')
  const scores = records.map(({ score = -1 }) => score)
  expect(scores).toEqual(scores.toSorted((left, right) => right - left))
  for (const score of scores) {
    expect(score).toBeGreaterThan(0)
    expect(score).toBeLessThan(1)
  }
})

test.each([
  ['résumé of the café', 'RESUME cafe'],
  ['Её зовут Алёна', 'алена'],
  ['Ὁ Ὀδυσσεὺς ταξιδεύει', 'οδυσσευς'],
  ['ذهب أحمد إلى المدرسة', 'احمد'],
  ['我明天去東京開會', '東京'],
  ['来週は東京に出張します', '東京'],
  ['東京タワーへ行った', 'タワー'],
  ['川', '川'],
  ['회의는 서울에서', '서울에서'],
])('%j is found by %j', async (content, query) => {
  const store = new OpenStore()
  await store.write('something else', content, 'и другое', '大阪へ行く')
  expect(contents(await store.recall(query))).toEqual([content])
})

test.each(['?!…', '、。', '😀'])('a query without a word (%j) finds nothing', async (query) => {
  const store = new OpenStore()
  await store.write('one', 'two')
  expect(await store.recall({ query })).toEqual([])
})

test.each([undefined, '', '   '])('without a query (%j) the newest come first', async (query) => {
  const store = new OpenStore()
  await store.write('one', 'two', 'three')
  const records = await store.recall({ query, limit: 2 })
  expect(contents(records)).toEqual(['three', 'two'])
  expect(records[0]?.score).toBeGreaterThan(records[1]?.score ?? 1)
})

test('the limit is 8 unless named, 0 is everything', async () => {
  const store = new OpenStore()
  await store.write(...Array.from({ length: 300 }, (_, n) => `note ${n}`))
  for (const query of ['note', undefined]) {
    expect(await store.recall({ query })).toHaveLength(8)
    expect(await store.recall({ query, limit: 11 })).toHaveLength(11)
    expect(await store.recall({ query, limit: 0 })).toHaveLength(300)
  }
})

test(`with a maximum, 0 is the maximum ${meets('4.3/limit-zero')}`, async () => {
  const store = new OpenStore({ limits: { max_recall_limit: 5 } })
  await store.write(...Array.from({ length: 9 }, (_, n) => `note ${n}`))
  expect(await store.recall({ query: 'note', limit: 0 })).toHaveLength(5)
  expect(await store.recall({ query: 'note' })).toHaveLength(5)
})

test('a smaller limit gives the first of a larger one', async () => {
  const store = new OpenStore()
  const word = fc.constantFrom('ant', 'bee', 'cat', 'dog', 'elk', 'fox')
  const texts = fc.sample(fc.array(word, { minLength: 1, maxLength: 9 }), { numRuns: 400, seed: 7 })
  await store.write(...texts.map((words) => words.join(' ')))
  const first = (limit: number) => store.recall({ ...QUIET, query: 'ant bee cat', limit })
  const all = await first(128)
  for (const limit of [1, 2, 5, 20, 100]) {
    expect(await first(limit)).toEqual(all.slice(0, limit))
  }
})

test('equal scores stand newest first', async () => {
  const store = new OpenStore()
  await store.write({ id: 'old', content: 'same words' }, { id: 'new', content: 'same words' })
  expect((await store.recall('words')).map(({ id }) => id)).toEqual(['new', 'old'])
})

test('min_score is about the scores of this store', async () => {
  const store = new OpenStore()
  await store.write('alpha beta gamma', 'alpha', 'other words entirely here')
  const [first] = await store.recall('alpha beta gamma')
  const least = first?.score ?? 2
  expect(contents(await store.recall({ query: 'alpha beta gamma', min_score: least }))).toEqual([
    'alpha beta gamma',
  ])
  expect(await store.recall({ query: 'alpha', min_score: 1 })).toEqual([])
  expect(await store.recall({ min_score: 0.4 })).toHaveLength(2)
})

const SHELF = [
  { id: '1', content: 'red fox', role: 'user', group: 'g', tier: 'working', owner: 'ann' },
  { id: '2', content: 'red hen', role: 'tool', tier: 'semantic', owner: 'ann' },
  { id: '3', content: 'red ant', group: 'g', tier: 'semantic', owner: 'bob' },
  { id: '4', content: 'red bee', tier: 'working', metadata: new JsonText('{"n":1.0,"x":null}') },
] as const

test.each([
  [{}, '1234'],
  [{ id: '2' }, '2'],
  [{ id: ['4', '1', 'none', 7] }, '14'],
  [{ id: null }, ''],
  [{ id: 1 }, ''],
  [{ id: [] }, ''],
  [{ role: ['tool', 'user'] }, '12'],
  [{ role: null }, '34'],
  [{ role: [null, 'user'] }, '134'],
  [{ group: 'g' }, '13'],
  [{ group: null }, '24'],
  [{ group: ['g', null] }, '1234'],
  [{ group: 'g', role: null }, '3'],
  [{ tier: 'semantic' }, '23'],
  [{ tier: ['semantic', 'working'] }, '1234'],
  [{ tier: null }, ''],
  [{ tier: 'nowhere' }, ''],
  [{ owner: null }, '4'],
  [{ owner: ['bob', null] }, '34'],
  [{ owner: 'eve' }, ''],
  [{ content: 'red hen' }, '2'],
  [{ n: 1 }, '4'],
  [{ n: [1, 2], x: null, owner: null }, '4'],
  [{ missing: null }, '1234'],
  [{ created_at: '2026-01-01T01:00:00.002+01:00' }, '2'],
])('where %j selects %j in every method', async (where, expected) => {
  const store = new OpenStore()
  await store.write(...SHELF)
  const found = async (query?: string) =>
    (await store.recall({ query, where, limit: 0 }))
      .map(({ id }) => id)
      .sort()
      .join('')
  expect(await found()).toBe(expected)
  expect(await found('red')).toBe(expected)
  expect((await store.timeline({ where })).map(({ id }) => id).join('')).toBe(expected)
  expect(await store.call('memory/forget', { where })).toEqual({ forgotten: expected.length })
})

test('tier, owner and where are joined by AND', async () => {
  const store = new OpenStore()
  await store.write(...SHELF)
  const ids = async (params: object) =>
    (await store.recall({ ...params, query: 'red' })).map((r) => r.id)
  expect(await ids({ owner: 'ann', tier: 'semantic' })).toEqual(['2'])
  expect(await ids({ owner: 'ann', tier: 'semantic', where: { tier: 'working' } })).toEqual([])
  expect(await ids({ owner: 'ann', where: { owner: 'bob' } })).toEqual([])
  expect(await ids({ [EXTENSION]: { owner: null } })).toEqual(['4'])
  expect(await codeOf(store.recall({ tier: 'nowhere' }))).toBe(-32002)
})

test('what another owner writes changes neither what is found nor a score', async () => {
  const store = new OpenStore()
  const mine = ['the red fox', 'a red hen', 'the blue fox and the blue hen']
  await store.write(...mine.map((content) => ({ content, owner: 'ann' })))
  const anns = () => store.recall({ ...QUIET, query: 'the red fox', owner: 'ann' })
  const before = await anns()
  for (const owner of ['bob', undefined]) {
    await store.write(...Array.from({ length: 60 }, () => ({ content: 'red red fox', owner })))
  }
  expect(await anns()).toEqual(before)
})

test('a filter that few records pass loses none of them, however many do not', async () => {
  const store = new OpenStore()
  const many = Array.from({ length: 3000 }, (_, n) => ({
    content: `common words ${n}`,
    role: n % 1000 === 0 ? 'rare' : 'usual',
  }))
  await store.call('memory/remember', { records: many })
  const found = await store.recall({ query: 'common words', where: { role: 'rare' } })
  expect(contents(found).toSorted()).toEqual([
    'common words 0',
    'common words 1000',
    'common words 2000',
  ])
})

test("anyone's records are found across more owners than are looked up one by one", async () => {
  const store = new OpenStore()
  await store.write(
    ...Array.from({ length: 50 }, (_, n) => ({ content: `note ${n}`, owner: `o${n}` })),
  )
  expect(await store.recall({ query: 'note', limit: 0 })).toHaveLength(50)
  expect(
    await store.recall({ query: 'note', limit: 0, where: { owner: ['o1', 'o2'] } }),
  ).toHaveLength(2)
  expect(await store.timeline({ limit: 3 })).toHaveLength(3)
  expect(contents(await store.recall({ query: 'note 17' }))[0]).toBe('note 17')
})

test('any query is taken', async () => {
  const store = new OpenStore()
  await store.write('some words "quoted" AND (grouped) OR near* col:on -minus')
  await fc.assert(
    fc.asyncProperty(anyText(0, 40), async (query) => {
      expect(Array.isArray(await store.recall(query))).toBe(true)
    }),
    { numRuns: 100 },
  )
  for (const query of ['"', 'AND', 'near*', 'col:on', '-minus', "'; DROP TABLE records", '|0']) {
    await store.recall(query)
  }
  expect(await store.timeline()).toHaveLength(1)
})
