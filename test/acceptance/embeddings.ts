import { describe, expect, test } from 'vitest'
import { meets } from '../support/meets.js'
import { type Bench, type Client, marked } from './subject.js'

/** Of all vectors that the suite writes, since the first fixes it. */
const WIDTH = 4

const BAD: readonly (readonly [unknown])[] = [
  [[]],
  ['1,2,3,4'],
  [{}],
  [5],
  [true],
  [['1', '2', '3', '4']],
  [[1, null, 3, 4]],
  [[1, 2, [3], 4]],
  [[1, 2, 3, true]],
]

async function write(client: Client, entries: readonly object[], where: object): Promise<string[]> {
  const records = entries.map((entry) => ({ content: '', ...entry, metadata: where }))
  return (await client.call('memory/remember', { records })).ids
}

/** The embeddings capability (§3.7). */
export function describeEmbeddings(bench: Bench): void {
  const { client, mark } = bench
  const space = async () => (await client().call('memory/describe')).embeddings

  describe('embeddings', () => {
    test(`are told in describe, their width once the first has fixed it ${meets('3.7/described')}`, async () => {
      const before = await space()
      expect(before?.dimensions).toBeNull()
      expect(['cosine', 'dot', 'l2']).toContain(before?.metric)
      expect(before?.metrics).toContain(before?.metric)
      const where = marked(mark())
      const [id = ''] = await write(client(), [{ embedding: [1, 2, 3, 4] }], where)
      expect(await space()).toEqual({ ...before, dimensions: WIDTH })
      await client().call('memory/forget', { ids: [id] })
      expect(await space()).toEqual({ ...before, dimensions: WIDTH })
    })

    test(`come back to the bit, and only where they are asked for ${meets('3.7/verbatim', '3.7/not-generated', '3.7/not-replaced', '3.7/on-request')}`, async () => {
      const where = marked(mark())
      const vectors = [
        [0.1 + 0.2, 1 / 3, -1e-300, 2 ** 53],
        [5e-324, Number.MAX_VALUE, -Number.MAX_VALUE, -0],
        [0, 0, 0, 0],
      ]
      const ids = await write(
        client(),
        vectors.map((embedding, n) => ({ embedding, content: `note ${n}` })),
        where,
      )
      for (const method of ['memory/timeline', 'memory/recall'] as const) {
        const { records } = await client().call(method, { where, embeddings: true, limit: 0 })
        const found = new Map(records.map((one) => [one.id, one.embedding]))
        expect(ids.map((id) => found.get(id))).toEqual(vectors)
        for (const embeddings of [undefined, false]) {
          const bare = await client().call(method, { where, embeddings, limit: 0 })
          expect(bare.records).toHaveLength(3)
          for (const one of bare.records) expect(one).not.toHaveProperty('embedding')
        }
      }
    })

    test(`of another width are refused, and nothing written ${meets('3.7/width', '7/embedding')}`, async () => {
      const where = marked(mark())
      await write(client(), [{ embedding: [1, 0, 0, 0] }], where)
      for (const bad of [[1], [1, 2, 3], [1, 2, 3, 4, 5], Array.from({ length: 4096 }, () => 1)]) {
        const records = [
          { content: 'good', embedding: [1, 2, 3, 4], metadata: where },
          { content: 'bad', embedding: bad, metadata: where },
        ]
        expect(await client().code('memory/remember', { records })).toBe(-32008)
        expect(await client().code('memory/recall', { embedding: bad, where })).toBe(-32008)
        const both = { embedding: bad, query: 'good', where }
        expect(await client().code('memory/recall', both)).toBe(-32008)
      }
      const { records } = await client().call('memory/timeline', { where })
      expect(records).toHaveLength(1)
    })

    test.each(BAD)(`%j is refused as a vector ${meets('3.7/not-empty')}`, async (embedding) => {
      const where = marked(mark())
      const records = [
        { content: 'x', metadata: where },
        { content: 'y', embedding },
      ]
      expect(await client().code('memory/remember', { records })).toBe(-32602)
      expect(await client().code('memory/recall', { embedding, where })).toBe(-32602)
      expect((await client().call('memory/timeline', { where })).records).toEqual([])
    })

    test('null is no vector', async () => {
      const where = marked(mark())
      await write(client(), [{ content: 'x', embedding: null }], where)
      const { records } = await client().call('memory/timeline', { where, embeddings: true })
      expect(records[0]).not.toHaveProperty('embedding')
      const recalled = await client().call('memory/recall', { query: 'x', embedding: null, where })
      expect(recalled.records).toHaveLength(1)
    })
  })

  describeNearness(bench)
}

function describeNearness({ traits, client, mark }: Bench): void {
  const [first, second] = traits.tiers

  describe('a query vector', () => {
    test('finds the nearest first, though they hold no text', async () => {
      const where = marked(mark())
      const [far, near, middle] = await write(
        client(),
        [
          { embedding: [0, 0, 1, 0], tier: first },
          { embedding: [1, 0, 0, 0.1], tier: second, content: 'near' },
          { embedding: [1, 0, 1, 0], tier: first, uri: 'file:///a.png' },
        ],
        where,
      )
      await write(client(), [{ content: 'without a vector' }], where)
      const params = { embedding: [1, 0, 0, 0], where, limit: 3 }
      const { records } = await client().call('memory/recall', params)
      expect(records.map(({ id }) => id)).toEqual([near, middle, far])
      const scores = records.map(({ score = Number.NaN }) => score)
      expect(scores).toEqual(scores.toSorted((left, right) => right - left))
      for (const score of scores) {
        expect(score).toBeGreaterThanOrEqual(0)
        expect(score).toBeLessThanOrEqual(1)
      }
      const one = await client().call('memory/recall', { ...params, limit: 1 })
      expect(one.records.map(({ id }) => id)).toEqual([near])
    })

    test('looks among what the selectors leave', async () => {
      const where = marked(mark())
      await write(client(), [{ embedding: [1, 0, 0, 0], role: 'user', tier: first }], where)
      const [wanted] = await write(
        client(),
        [{ embedding: [0, 1, 0, 0], role: 'tool', tier: second }],
        where,
      )
      for (const selectors of [
        { where: { ...where, role: 'tool' } },
        { where, tier: second },
        { where: { ...where, id: wanted } },
      ]) {
        const params = { embedding: [1, 0, 0, 0], limit: 1, ...selectors }
        const { records } = await client().call('memory/recall', params)
        expect(records.map(({ id }) => id)).toEqual([wanted])
      }
    })

    test('votes beside a text', async () => {
      const where = marked(mark())
      const [text, vector, both] = await write(
        client(),
        [
          { content: 'a heron at dawn', embedding: [0, 0, 0, -1], tier: first },
          { content: 'nothing of that', embedding: [1, 1, 0, 0], tier: second },
          { content: 'a heron in the river', embedding: [1, 0.9, 0, 0], tier: second },
        ],
        where,
      )
      const params = { query: 'heron river', embedding: [1, 1, 0, 0], where }
      const { records } = await client().call('memory/recall', params)
      const ids = records.map(({ id }) => id)
      expect(ids[0]).toBe(both)
      expect(ids).toContain(text)
      expect(ids).toContain(vector)
      const scores = records.map(({ score = Number.NaN }) => score)
      expect(scores).toEqual(scores.toSorted((left, right) => right - left))
    })

    test('of zeros, and zeros to be found, give scores all the same', async () => {
      const where = marked(mark())
      await write(client(), [{ embedding: [0, 0, 0, 0] }, { embedding: [0, 1, 0, 0] }], where)
      for (const embedding of [
        [0, 0, 0, 0],
        [0, 1, 0, 0],
      ]) {
        const { records } = await client().call('memory/recall', { embedding, where })
        expect(records).toHaveLength(2)
        for (const { score } of records) expect(score).toBeGreaterThanOrEqual(0)
      }
    })
  })

  describe('a vector', () => {
    test('goes along when its record moves, to the bit', async () => {
      const where = marked(mark())
      const embedding = [0.1, 1 / 3, 5e-324, -1e200]
      const ids = await write(client(), [{ embedding, tier: first }], where)
      await client().call('memory/promote', { ids, tier: second })
      const { records } = await client().call('memory/timeline', { where, embeddings: true })
      expect(records).toMatchObject([{ tier: second, embedding }])
      const found = await client().call('memory/recall', { embedding, where, tier: second })
      expect(found.records.map(({ id }) => id)).toEqual(ids)
    })
  })
}
