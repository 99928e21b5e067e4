import { describe, expect, test } from 'vitest'
import { meets } from '../support/meets.js'
import { type Bench, marked } from './subject.js'

const NOTHING: readonly (readonly [string, object])[] = [
  ['no selector', {}],
  ['empty ids', { ids: [] }],
  ['an empty query', { query: '' }],
  ['an empty where', { where: {} }],
  ['everything empty', { ids: [], query: '', where: {} }],
  ['nulls', { ids: null, query: null, tier: null, where: null }],
  ['an unknown selector', { everything: true }],
]

/** memory/forget (§4.5). */
export function describeForgetting({ client, mark }: Bench): void {
  const write = async (contents: readonly string[], where: object) => {
    const records = contents.map((content) => ({ content, metadata: where }))
    return (await client().call('memory/remember', { records })).ids
  }
  const left = async (where: object) =>
    (await client().call('memory/timeline', { where, limit: 0 })).records.map(({ id }) => id)

  describe('forgetting', () => {
    test.each(NOTHING)(
      `%s is refused ${meets('4.5/selector', '4.5/deliberate')}`,
      async (_, params) => {
        const where = marked(mark())
        const ids = await write(['stays'], where)
        expect(await client().code('memory/forget', params)).toBe(-32602)
        expect(await left(where)).toEqual(ids)
      },
    )

    test.each([[{ ids: 'a' }], [{ ids: [5] }], [{ query: 5 }], [{ where: [] }], [{ tier: 5 }]])(
      `%j is refused ${meets('7/invalid-params')}`,
      async (params) => {
        expect(await client().code('memory/forget', params)).toBe(-32602)
      },
    )

    test(`counts every record once and absent ones not at all ${meets('7/unknown-record', '2/core-methods')}`, async () => {
      const where = marked(mark())
      const [a = '', b = '', c = ''] = await write(['a', 'b', 'c'], where)
      const ids = [a, a, 'no such id', b, a]
      expect(await client().call('memory/forget', { ids })).toEqual({ forgotten: 2 })
      expect(await client().call('memory/forget', { ids })).toEqual({ forgotten: 0 })
      expect(await left(where)).toEqual([c])
    })

    test('joins its selectors by AND', async () => {
      const where = marked(mark())
      const [a = '', b = ''] = await write(['a', 'b'], where)
      const none = { ids: [a], where: { ...where, role: 'user' } }
      expect(await client().call('memory/forget', none)).toEqual({ forgotten: 0 })
      expect(await client().call('memory/forget', { ids: [a], where })).toEqual({ forgotten: 1 })
      expect(await left(where)).toEqual([b])
    })

    test('by a query takes exactly what recall would have given', async () => {
      const where = marked(mark())
      const contents = Array.from(
        { length: 12 },
        (_, n) => `walrus number ${n} ${'ice '.repeat(n)}`,
      )
      await write([...contents, 'an otter', 'a seal'], where)
      const recalled = await client().call('memory/recall', { query: 'walrus', where })
      const forgotten = await client().call('memory/forget', { query: 'walrus', where })
      expect(forgotten).toEqual({ forgotten: recalled.records.length })
      const kept = new Set(await left(where))
      expect(recalled.records.filter(({ id }) => kept.has(id))).toEqual([])
      expect(kept.size).toBe(14 - recalled.records.length)
    })

    test('leaves nothing to be recalled, and the id free', async () => {
      const id = mark()
      const entry = { id, content: `unforgettable ${id}` }
      await client().call('memory/remember', { records: [entry] })
      await client().call('memory/forget', { ids: [id] })
      const query = { query: `unforgettable ${id}`, where: { id } }
      expect((await client().call('memory/recall', query)).records).toEqual([])
      await client().call('memory/remember', { records: [{ id, content: 'anew' }] })
      const { records } = await client().call('memory/timeline', { where: { id } })
      expect(records.map(({ content }) => content)).toEqual(['anew'])
    })
  })
}
