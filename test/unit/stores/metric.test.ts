import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { COMPARISONS, METRICS, type Metric } from '../../../src/stores/metric.js'

function compare(metric: Metric, left: readonly number[], right: readonly number[]) {
  const { prepare, similarity, score } = COMPARISONS[metric]
  const similar = similarity(prepare(left), prepare(right), 0)
  return { similar, score: score(similar) }
}

test.each([
  ['cosine', [1, 0], [5, 0], 1],
  ['cosine', [1, 0], [0, 3], 0.5],
  ['cosine', [1, 0], [-2, 0], 0],
  ['cosine', [1e200, 1e200], [1e200, 1e200], 1],
  ['cosine', [1e-200, 0], [1e-200, 0], 1],
  ['cosine', [5e-324, 0], [1, 0], 1],
  ['cosine', [0, 0], [1, 0], 0],
  ['cosine', [1, 0], [0, 0], 0],
  ['cosine', [0, -0], [0, 0], 0],
  ['dot', [1, 2, 3, 4, 5], [0, 0, 0, 0, 0], 0.5],
  ['dot', [1e200, 0], [1e200, 0], 1],
  ['dot', [1e200, 1e200], [1e200, -1e200], 0],
  ['l2', [1, 2, 3], [1, 2, 3], 1],
  ['l2', [0, 0, 0], [2, 3, 6], 1 / 8],
  ['l2', [1e200, 0], [-1e200, 0], 0],
] as const)('%s of %j and %j scores %d', (metric, left, right, score) => {
  expect(compare(metric, left, right).score).toBeCloseTo(score, 12)
})

const width = fc.integer({ min: 1, max: 9 })
const pair = width.chain((length) => {
  const vector = fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), {
    minLength: length,
    maxLength: length,
  })
  return fc.tuple(vector, vector, vector)
})

describe.each(METRICS)('%s', (metric) => {
  test('gives scores from 0 to 1 in the order of similarity, whatever the doubles', () => {
    fc.assert(
      fc.property(pair, ([query, one, other]) => {
        const [left, right] = [compare(metric, query, one), compare(metric, query, other)]
        for (const { similar, score } of [left, right]) {
          expect(similar).not.toBeNaN()
          expect(score).toBeGreaterThanOrEqual(0)
          expect(score).toBeLessThanOrEqual(1)
        }
        if (left.similar > right.similar) expect(left.score).toBeGreaterThanOrEqual(right.score)
      }),
    )
  })

  test('is what the formula says, at any offset', () => {
    const plain = {
      cosine: (a: number[], b: number[]) => sum(a, b) / Math.sqrt(sum(a, a) * sum(b, b)),
      dot: sum,
      l2: (a: number[], b: number[]) => -a.reduce((all, x, at) => all + (x - (b[at] ?? 0)) ** 2, 0),
    }[metric]
    const number = fc.integer({ min: 1, max: 1000 })
    fc.assert(
      fc.property(fc.array(fc.tuple(number, number), { minLength: 1, maxLength: 20 }), (pairs) => {
        const [left, right] = [pairs.map(([x]) => x), pairs.map(([, y]) => y)]
        const { prepare, similarity } = COMPARISONS[metric]
        const block = new Float64Array(left.length * 3).fill(7)
        block.set(prepare(right), left.length)
        const found = similarity(prepare(left), block, left.length)
        const expected = plain(left, right)
        expect(Math.abs(found - expected)).toBeLessThanOrEqual(Math.abs(expected) * 1e-12)
      }),
    )
  })
})

function sum(left: number[], right: number[]): number {
  return left.reduce((all, x, at) => all + x * (right[at] ?? 0), 0)
}
