import { describe, expect, test } from 'vitest'
import { JsonText } from '../../src/protocol/json.js'
import { CAPABILITIES, type Capability } from '../../src/protocol/methods.js'
import { meets } from '../support/meets.js'
import { type Bench, marked } from './subject.js'

const TO_THE_LETTER = [
  '{"n":9007199254740993}',
  '{"n":1.0,"m":-0,"o":1e400,"p":0.10}',
  '{"__proto__":{"x":1},"constructor":2}',
  '{"10":1,"2":2,"a":3,"1":4}',
  '{"deep":[[[{"a":[null,true,1.50]}]]]}',
  '{"metadata":{"metadata":"\\"metadata\\":"}}',
  '{"text":"\\u00e9\\ud83d\\ude00\\/\\\\ud800"}',
  '{"":"","\\u0061":"escaped"}',
  '{}',
]

const NOT_TO_BE_KEPT: readonly (readonly [string, string])[] = [
  ['half a surrogate pair', '{"text":"\\ud800"}'],
  ['half a pair in a name', '{"\\udc00":1}'],
  ['one name twice', '{"a":1,"a":2}'],
  ['over 128 levels', `{"deep":${'['.repeat(200)}${']'.repeat(200)}}`],
  ['an array', '[]'],
  ['a text', '"{}"'],
]

const TEXTS = [
  '東京の天気は晴れ',
  'Привет, мир',
  'مرحبا بالعالم',
  'שלום עולם',
  'नमस्ते दुनिया',
  '안녕하세요 세계',
  'Größe e\u0301te\u0301 🏳️‍🌈',
  'nul\u0000between',
  'line\u2028separator\u2029s',
  '\ufeffbom and \u202ertl override',
  'tab\tnew\nline\r\n"quotes" \\ /',
  ' ',
  '',
]

const MALFORMED: readonly (readonly [string, unknown])[] = [
  ['no records', {}],
  ['an empty batch', { records: [] }],
  ['records that are no array', { records: { content: 'x' } }],
  ['an entry that is no object', { records: ['x'] }],
  ['no content', { records: [{ role: 'user' }] }],
  ['content that is no text', { records: [{ content: 5 }] }],
  ['metadata that is an array', { records: [{ content: 'x', metadata: [1] }] }],
  ['metadata that is text', { records: [{ content: 'x', metadata: 'x' }] }],
  ['metadata that is a number', { records: [{ content: 'x', metadata: 1 }] }],
  ['an empty id', { records: [{ content: 'x', id: '' }] }],
  ['an id that is a number', { records: [{ content: 'x', id: 7 }] }],
  ['a role that is no text', { records: [{ content: 'x', role: {} }] }],
  ['a group that is no text', { records: [{ content: 'x', group: 1 }] }],
]

/** Values that no field of a record could have, by the capability whose field it is. */
const UNDECLARED: { readonly [C in Capability]?: object } = {
  salience: { salience: 'high' },
  sessions: { session: 5 },
  keys: { key: [] },
  embeddings: { embedding: 'x' },
  external: { uri: {}, media_type: 1 },
}

/** memory/remember (§3.1 to §3.4, §4.2). */
export function describeWriting({ traits, client, mark }: Bench): void {
  const declares = (capability: Capability) => traits.capabilities.includes(capability)
  const written = (where: object) => client().call('memory/timeline', { where, limit: 0 })

  describe('writing', () => {
    test(`gives every entry an id of its own, in their order ${meets('3.2/assigned', '4.2/ids')}`, async () => {
      const metadata = marked(mark())
      const records = Array.from({ length: 50 }, (_, n) => ({ content: `n${n}`, metadata }))
      const { ids } = await client().call('memory/remember', { records })
      const again = await client().call('memory/remember', { records })
      expect(new Set([...ids, ...again.ids]).size).toBe(100)
      const found = await written({ id: ids[17] ?? '' })
      expect(found.records.map(({ content }) => content)).toEqual(['n17'])
    })

    test(`keeps a caller’s id, and what is there under it ${meets('3.2/one-record', '3.2/existing-id')}`, async () => {
      const id = `${mark()} / any text: ✓`
      const first = { id, content: 'first', metadata: { a: 1 } }
      expect(await client().call('memory/remember', { records: [first] })).toEqual({ ids: [id] })
      const second = { id, content: 'second' }
      expect(await client().call('memory/remember', { records: [second] })).toEqual({ ids: [id] })
      expect((await written({ id })).records).toMatchObject([{ id, content: 'first' }])
    })

    test(`makes one record of one id, twice in a batch or ten times at once ${meets('3.2/one-record', '3.2/existing-id')}`, async () => {
      const [twice, often] = [mark(), mark()]
      const pair = [
        { id: twice, content: 'a' },
        { id: twice, content: 'b' },
      ]
      expect(await client().call('memory/remember', { records: pair })).toEqual({
        ids: [twice, twice],
      })
      const same = { records: [{ id: often, content: 'x' }] }
      const all = await Promise.all(
        Array.from({ length: 10 }, () => client().call('memory/remember', same)),
      )
      expect(new Set(all.flatMap(({ ids }) => ids))).toEqual(new Set([often]))
      expect((await written({ id: [twice, often] })).records).toHaveLength(2)
    })

    test.each(TO_THE_LETTER)(
      `brings metadata back to the letter: %s ${meets('3.1/metadata')}`,
      async (text) => {
        const id = mark()
        const metadata = new JsonText(text)
        await client().call('memory/remember', { records: [{ id, content: id, metadata }] })
        const timeline = await written({ id })
        expect(timeline.records.map((record) => record.metadata?.text)).toEqual([text])
        const recalled = await client().call('memory/recall', { query: id, where: { id } })
        expect(recalled.records.map((record) => record.metadata?.text)).toEqual([text])
      },
    )

    test.each(NOT_TO_BE_KEPT)(
      `refuses metadata rather than lose any of it: %s ${meets('3.1/metadata-kept')}`,
      async (_, text) => {
        const where = marked(mark())
        const bad = { content: 'x', metadata: new JsonText(text) }
        const records = [{ content: 'good', metadata: where }, bad]
        expect(await client().code('memory/remember', { records })).toBe(-32602)
        expect((await written(where)).records).toEqual([])
      },
    )

    test.each(TEXTS)('brings content back as it was: %j', async (content) => {
      const id = mark()
      await client().call('memory/remember', { records: [{ id, content }] })
      expect((await written({ id })).records.map((record) => record.content)).toEqual([content])
    })

    test(`stamps records in UTC with milliseconds ${meets('3.3/timestamps', '3.3/no-numbers', '3.1/record')}`, async () => {
      const id = mark()
      const entry = { id, content: 'x', created_at: 1785233730123 }
      await client().call('memory/remember', { records: [entry] })
      const [record] = (await written({ id })).records
      expect(record?.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      expect(Math.abs(Date.parse(record?.created_at ?? '') - Date.now())).toBeLessThan(60_000)
    })

    test(`keeps role and group, and ignores what it does not know ${meets('2/unknown-params', '4.2/undeclared-fields')}`, async () => {
      const id = mark()
      const undeclared = CAPABILITIES.filter((capability) => !declares(capability))
      const unknown = Object.assign({}, ...undeclared.map((capability) => UNDECLARED[capability]))
      const known = { id, content: 'x', role: 'anything else', group: `g ${id}` }
      const entry = { ...known, colour: {}, ...unknown }
      const session = declares('sessions') ? {} : { session: [] }
      await client().call('memory/remember', { records: [entry], ...session })
      const [record] = (await written({ id })).records
      expect(record).toMatchObject({ role: 'anything else', group: `g ${id}` })
      const names = ['colour', ...Object.keys(unknown)].filter((name) => name !== 'salience')
      for (const name of names) expect(record).not.toHaveProperty(name)
      expect(record?.salience).not.toBe('high')
    })

    test('takes null for absent', async () => {
      const id = mark()
      const entry = { id, content: 'x', metadata: null, role: null, tier: null, owner: null }
      await client().call('memory/remember', { records: [entry], session: null })
      expect((await written({ id })).records).toHaveLength(1)
    })

    test('takes a thousand records at once', async () => {
      const metadata = marked(mark())
      const records = Array.from({ length: 1000 }, (_, n) => ({ content: `row ${n}`, metadata }))
      const { ids } = await client().call('memory/remember', { records })
      expect(new Set(ids).size).toBe(1000)
      const found = await written(metadata)
      expect(new Set(found.records.map(({ id }) => id))).toEqual(new Set(ids))
    })

    test.each(MALFORMED)(
      `refuses %s ${meets('3.1/content', '4.2/records', '7/invalid-params')}`,
      async (_, params) => {
        expect(await client().code('memory/remember', params)).toBe(-32602)
      },
    )

    test(`writes nothing of a batch of which one entry is refused ${meets('4.2/no-short-list')}`, async () => {
      const metadata = marked(mark())
      for (const bad of [
        { content: 5 },
        { content: 'x', metadata: [] },
        { content: 'x', id: '' },
      ]) {
        const records = [{ content: 'good', metadata }, bad]
        expect(await client().code('memory/remember', { records })).toBe(-32602)
      }
      expect((await written(metadata)).records).toEqual([])
    })
  })
}
