import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EXTENSION } from '../../../src/protocol/extension.js'
import { JsonText } from '../../../src/protocol/json.js'
import { anyText } from '../../support/any-text.js'
import { codeOf, contents, idsOf, OpenStore, START, UNUSED } from './open.js'

test('a record comes back as it was written, with what the store adds', async () => {
  const store = new OpenStore()
  const metadata = new JsonText('{"a":1.0}')
  await store.write({
    ...{ id: 'i', content: 'text', role: 'user', group: 'g', tier: 'semantic', owner: 'ann' },
    metadata,
  })
  expect(await store.timeline({ owner: 'ann' })).toEqual([
    {
      ...{ id: 'i', content: 'text', role: 'user', group: 'g', tier: 'semantic', owner: 'ann' },
      ...{ metadata, created_at: '2026-01-01T00:00:00.001Z', ...UNUSED },
    },
  ])
})

test('a bare record is in the first tier and has no other fields', async () => {
  const store = new OpenStore({ tiers: ['first', 'second'] })
  const [id] = await store.write('text')
  expect(await store.timeline()).toEqual([
    { id, content: 'text', tier: 'first', created_at: '2026-01-01T00:00:00.001Z', ...UNUSED },
  ])
})

test.each([
  '{"n":9007199254740993}',
  '{"n":[1.0,-0,1e400,1E+2,0.1000]}',
  '{"__proto__":{"x":1},"constructor":null}',
  '{"2":"b","1":"a","b":0,"a":0}',
  '{ "spaced" : [ ] }',
  '{"escapes":"\\u0041\\/\\u0000\\ud800"}',
  '{"text":"\u2028 \u0301 \u202e"}',
])('metadata %s is kept to the letter', async (text) => {
  const store = new OpenStore()
  await store.write({ content: 'x', metadata: new JsonText(text) })
  const [record] = await store.recall('x')
  expect(record?.metadata?.text).toBe(text)
})

test('any text comes back the same, and so do ids, roles, groups and owners', async () => {
  const store = new OpenStore()
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyText(1, 20), { minLength: 5, maxLength: 5 }),
      async ([content = '', id = '', role = '', group = '', owner = '']) => {
        await store.write({ content, id, role, group, owner })
        const fields = { content, id, role, group, owner }
        for (const where of [{}, { id }, { group }, { role }, { owner }]) {
          const [record, ...others] = await store.timeline({ where })
          expect(record).toMatchObject(fields)
          expect(others).toEqual([])
        }
        expect(await store.call('memory/forget', { ids: [id] })).toEqual({ forgotten: 1 })
      },
    ),
    { numRuns: 50 },
  )
})

test('an id that exists is returned and nothing written', async () => {
  const store = new OpenStore()
  await store.write({ id: 'a', content: 'first' })
  const { ids } = await store.call('memory/remember', {
    records: [{ id: 'a', content: 'again', tier: 'semantic' }, { content: 'other' }],
  })
  expect(ids).toEqual(['a', 'new-1'])
  expect(contents(await store.timeline())).toEqual(['first', 'other'])
})

test('an id that stands twice in a batch is written once', async () => {
  const store = new OpenStore()
  const records = [
    { id: 'a', content: 'first' },
    { id: 'a', content: 'second' },
  ]
  expect((await store.call('memory/remember', { records })).ids).toEqual(['a', 'a'])
  expect(contents(await store.timeline())).toEqual(['first'])
  expect(await store.counts()).toMatchObject({ working: 1 })
})

test('a batch with an unknown tier writes nothing', async () => {
  const store = new OpenStore()
  const records = [{ content: 'good' }, { content: 'bad', tier: 'nowhere' }]
  expect(await codeOf(store.call('memory/remember', { records }))).toBe(-32002)
  expect(await store.timeline()).toEqual([])
})

test('carried instants are kept, entry by entry, and ordered to the microsecond', async () => {
  const store = new OpenStore()
  store.now = START
  await store.call('memory/remember', {
    records: [{ content: 'later' }, { content: 'now' }, { content: 'sooner' }],
    [EXTENSION]: {
      carried: [
        { created_at: '2025-06-01T12:00:00.000900+02:00' },
        null,
        { created_at: '2025-06-01T10:00:00.000100Z' },
      ],
    },
  })
  const records = await store.timeline()
  expect(contents(records)).toEqual(['sooner', 'later', 'now'])
  expect(records.map((record) => record.created_at)).toEqual([
    '2025-06-01T10:00:00.000Z',
    '2025-06-01T10:00:00.000Z',
    '2026-01-01T00:00:00.000Z',
  ])
})

test('two owners and nobody may each have the same id', async () => {
  const store = new OpenStore()
  await store.write(
    { id: 'a', content: 'of ann', owner: 'ann' },
    { id: 'a', content: 'of bob', owner: 'bob' },
    { id: 'a', content: 'of nobody' },
  )
  expect(contents(await store.timeline())).toEqual(['of ann', 'of bob', 'of nobody'])
  expect(contents(await store.timeline({ owner: 'bob' }))).toEqual(['of bob'])
  expect(contents(await store.timeline({ [EXTENSION]: { owner: null } }))).toEqual(['of nobody'])
  expect(idsOf(await store.timeline({ where: { id: ['a', 'b'] } }))).toEqual(['a', 'a', 'a'])
})
