import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  comparing,
  nearnessIn,
  rankBySimilarity,
  vectorVoter,
} from '../../../src/federation/ranking/vector.js'
import { EXTENSION } from '../../../src/protocol/extension.js'
import type { MemoryRecord } from '../../../src/protocol/records.js'
import { METRICS, type Metric } from '../../../src/stores/metric.js'

function rankByVectors(
  vectors: readonly (readonly number[] | undefined)[],
  query: readonly number[],
  metric: Metric,
): number[] {
  const compare = comparing(query, metric)
  return rankBySimilarity(vectors.map((vector) => vector && compare(vector)))
}

describe('the order of vectors', () => {
  test.each<[string, Metric, (number[] | undefined)[], number[], number[]]>([
    [
      'by angle, whatever the length',
      'cosine',
      [
        [0, 9],
        [5, 5],
        [0.1, 0],
      ],
      [1, 0],
      [2, 1, 0],
    ],
    [
      'by product, length included',
      'dot',
      [
        [0, 9],
        [5, 5],
        [0.1, 0],
      ],
      [1, 0],
      [1, 2, 0],
    ],
    [
      'by distance',
      'l2',
      [
        [0, 9],
        [5, 5],
        [0.1, 0],
      ],
      [1, 0],
      [2, 1, 0],
    ],
    [
      'opposite comes after square',
      'cosine',
      [
        [-1, 0],
        [0, 1],
      ],
      [1, 0],
      [1, 0],
    ],
    [
      'zero by angle is the last',
      'cosine',
      [
        [0, 0],
        [-1, 0],
        [1, 0],
      ],
      [1, 0],
      [2, 1, 0],
    ],
    [
      'zero has a product and a distance',
      'dot',
      [
        [0, 0],
        [-1, 0],
        [1, 0],
      ],
      [1, 0],
      [2, 0, 1],
    ],
    [
      'a query of zeros makes all alike',
      'cosine',
      [
        [1, 0],
        [0, 0],
        [0, 1],
      ],
      [0, 0],
      [0, 1, 2],
    ],
    [
      'equals keep their order',
      'dot',
      [
        [1, 3],
        [1, 2],
        [2, 0],
        [1, 9],
      ],
      [1, 0],
      [2, 0, 1, 3],
    ],
    ['those without a vector are left out', 'l2', [undefined, [1, 1], undefined], [1, 1], [1]],
    ['and those of another width', 'cosine', [[1, 0, 0], [1], [1, 0]], [1, 0], [2]],
    [
      'sums beyond every double',
      'dot',
      [
        [1, 0],
        [1e308, 1e308],
        [-1e308, -1e308],
      ],
      [1e308, 1e308],
      [1, 0, 2],
    ],
    [
      'infinities that cancel out are the last',
      'dot',
      [
        [1e308, -1e308],
        [-1, 0],
      ],
      [1e308, 1e308],
      [1, 0],
    ],
    [
      'lengths beyond every double',
      'cosine',
      [
        [1e308, 1e308],
        [1e-320, 0],
      ],
      [1e300, 0],
      [1, 0],
    ],
    ['none', 'cosine', [], [1, 0], []],
  ])('%s (%s)', (_, metric, vectors, query, order) => {
    expect(rankByVectors(vectors, query, metric)).toEqual(order)
  })

  const number = fc.double({ noNaN: true, noDefaultInfinity: true })
  const vector = fc.array(number, { minLength: 3, maxLength: 3 })

  test('each vector has its place once, the same at every asking, whatever the numbers', () => {
    fc.assert(
      fc.property(
        fc.array(fc.option(vector, { nil: undefined })),
        vector,
        fc.constantFrom(...METRICS),
        (vectors, query, metric) => {
          const order = rankByVectors(vectors, query, metric)
          const there = [...vectors.keys()].filter((index) => vectors[index] !== undefined)
          expect(order.toSorted((a, b) => a - b)).toEqual(there)
          expect(rankByVectors(vectors, query, metric)).toEqual(order)
        },
      ),
    )
  })

  test('the order is that of the formula', () => {
    const small = fc.array(fc.integer({ min: -9, max: 9 }), { minLength: 3, maxLength: 3 })
    const sum = (parts: number[]) => parts.reduce((total, part) => total + part, 0)
    const dot = (a: number[], b: number[]) => sum(a.map((x, at) => x * (b[at] ?? 0)))
    const formulas = {
      dot,
      l2: (a: number[], b: number[]) => -sum(a.map((x, at) => (x - (b[at] ?? 0)) ** 2)),
      cosine: (a: number[], b: number[]) => dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b)),
    }
    fc.assert(
      fc.property(
        fc.array(small.filter((v) => v.some(Boolean))),
        small.filter((v) => v.some(Boolean)),
        fc.constantFrom(...METRICS),
        (vectors, query, metric) => {
          const near = rankByVectors(vectors, query, metric).map((index) =>
            formulas[metric](vectors[index] ?? [], query),
          )
          for (const [place, value] of near.slice(1).entries()) {
            expect(value).toBeLessThanOrEqual((near[place] ?? 0) + 1e-12)
          }
        },
      ),
    )
  })
})

describe('the voter', () => {
  const record = (id: string): MemoryRecord => ({ id, content: id, created_at: '' })

  test('without weight nobody votes', () => {
    const similarityOf = () => 1
    expect(vectorVoter({ similarityOf, weight: 0 })).toBeUndefined()
    expect(vectorVoter({ similarityOf, weight: 0.5 })).toMatchObject({
      name: 'vector',
      weight: 0.5,
    })
  })

  test('ranks those of which it is known how near they are', () => {
    const known = new Map([
      ['a', 1],
      ['b', 3],
      ['c', 1],
    ])
    const voter = vectorVoter({ weight: 1, similarityOf: ({ id }) => known.get(id) })
    const candidates = ['c', 'a', 'none', 'b'].map(record)
    expect(voter?.rank(candidates)).toEqual([3, 0, 1])
  })

  test('what is told beside the records goes before their vectors', () => {
    const records = [record('a'), { ...record('b'), embedding: [9] }, record('c')]
    const compare = comparing([1], 'dot')
    const of = (result: Parameters<typeof nearnessIn>[0]) =>
      records.map(nearnessIn(result, compare))
    expect(of({ records })).toEqual([undefined, 9, undefined])
    const told = { [EXTENSION]: { similarities: [0.5, null] } }
    expect(of({ records, ...told })).toEqual([0.5, undefined, undefined])
    expect(of(undefined)).toEqual([undefined, 9, undefined])
  })
})
