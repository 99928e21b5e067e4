import { describe, expect, test } from 'vitest'
import { meets } from '../support/meets.js'
import { type Bench, type Client, marked } from './subject.js'

const DISHES = [
  'Tuesday lunch was ramen with a soft egg',
  'the deploy key rotates every ninety days',
  'a heron stood in the river at dawn',
  'the deploy of Friday was rolled back',
  'ninety nine bottles of lemonade',
]

async function write(client: Client, contents: readonly string[], mark: string): Promise<string[]> {
  const ids: string[] = []
  for (const content of contents) {
    const entry = { content, metadata: marked(mark) }
    ids.push(...(await client.call('memory/remember', { records: [entry] })).ids)
  }
  return ids
}

/** memory/recall and memory/timeline (§4.3, §4.4, §5.3). */
export function describeReading({ client, mark }: Bench): void {
  describe('recall', () => {
    test(`puts first what fits best, by falling scores ${meets('5.3/descending', '2/core-methods')}`, async () => {
      const where = marked(mark())
      const ids = await write(client(), DISHES, where.mark)
      const query = 'how often does the deploy key rotate?'
      const { records } = await client().call('memory/recall', { query, where })
      expect(records[0]?.id).toBe(ids[1])
      const scores = records.map(({ score }) => score ?? Number.NaN)
      expect(scores.every((score) => score >= 0 && score <= 1)).toBe(true)
      expect(scores).toEqual([...scores].sort((a, b) => b - a))
      expect(new Set(records.map(({ id }) => id)).size).toBe(records.length)
    })

    test.each([
      ['東京', '東京の天気は晴れ'],
      ['привет', 'Привет, мир'],
      ['مرحبا', 'مرحبا بالعالم'],
      ['안녕하세요', '안녕하세요 세계'],
      ['नमस्ते', 'नमस्ते दुनिया'],
      ['größe', 'Die Größe zählt'],
    ])('finds %s in %s', async (query, content) => {
      const where = marked(mark())
      await write(client(), [content, 'something else entirely'], where.mark)
      const { records } = await client().call('memory/recall', { query, where, limit: 1 })
      expect(records.map((record) => record.content)).toEqual([content])
    })

    test.each([[undefined], ['']])(
      `without a query (%j) gives the newest ${meets('4.3/no-query')}`,
      async (query) => {
        const where = marked(mark())
        const ids = await write(client(), ['one', 'two', 'three'], where.mark)
        const { records } = await client().call('memory/recall', { query, where, limit: 2 })
        expect(records.map(({ id }) => id).sort()).toEqual(ids.slice(1).sort())
      },
    )

    test(`gives as many as asked for, and 0 is all ${meets('4.3/limit-zero')}`, async () => {
      const where = marked(mark())
      await write(client(), [...DISHES, ...DISHES, ...DISHES], where.mark)
      const count = async (params: object) =>
        (await client().call('memory/recall', { where, ...params })).records.length
      expect(await count({ limit: 3 })).toBe(3)
      expect(await count({ limit: 0 })).toBe(15)
      expect(await count({ limit: 100 })).toBe(15)
      expect(await count({ limit: 2, query: 'deploy' })).toBe(2)
    })

    test('with a smaller limit gives the first of a larger one, in the same order again', async () => {
      const where = marked(mark())
      await write(client(), [...DISHES, 'deploy', 'key deploy', 'ninety keys'], where.mark)
      const ask = async (limit: number) =>
        (await client().call('memory/recall', { query: 'deploy ninety key', where, limit })).records
      const ids = (await ask(8)).map(({ id }) => id)
      expect((await ask(8)).map(({ id }) => id)).toEqual(ids)
      for (const limit of [1, 2, 5]) {
        expect((await ask(limit)).map(({ id }) => id)).toEqual(ids.slice(0, limit))
      }
    })

    test('finds nothing where there is nothing', async () => {
      const where = marked(mark())
      expect((await client().call('memory/recall', { query: 'x', where })).records).toEqual([])
    })
  })

  describe('timeline', () => {
    test(`is in the order of creation ${meets('4.4/ascending', '2/core-methods')}`, async () => {
      const where = marked(mark())
      const ids = await write(client(), DISHES, where.mark)
      const { records } = await client().call('memory/timeline', { where })
      expect(records.map(({ id }) => id)).toEqual(ids)
      const times = records.map((record) => record.created_at)
      expect(times).toEqual([...times].sort())
    })

    test(`gives the newest of them, and 0 is all ${meets('4.4/newest')}`, async () => {
      const where = marked(mark())
      const ids = await write(client(), DISHES, where.mark)
      for (const limit of [1, 3, 5, 50]) {
        const { records } = await client().call('memory/timeline', { where, limit })
        expect(records.map(({ id }) => id)).toEqual(ids.slice(-limit))
      }
      expect((await client().call('memory/timeline', { where, limit: 0 })).records).toHaveLength(5)
    })

    test(`is no search ${meets('4.4/no-search')}`, async () => {
      const where = marked(mark())
      await write(client(), DISHES, where.mark)
      const { records } = await client().call('memory/timeline', {
        where,
        query: 'heron',
        limit: 0,
      })
      expect(records).toHaveLength(5)
    })
  })

  test.each([
    ['memory/recall', { limit: -1 }],
    ['memory/recall', { limit: 1.5 }],
    ['memory/recall', { limit: '5' }],
    ['memory/recall', { query: 5 }],
    ['memory/recall', { where: [] }],
    ['memory/recall', { where: 'role' }],
    ['memory/recall', { min_score: 'x' }],
    ['memory/timeline', { limit: -1 }],
    ['memory/timeline', { where: 1 }],
    ['memory/timeline', { tier: 5 }],
  ])(`%s %j is refused ${meets('7/invalid-params')}`, async (method, params) => {
    expect(await client().code(method, params)).toBe(-32602)
  })
}
