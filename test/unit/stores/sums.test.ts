import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Sums } from '../../../src/stores/sums.js'

test('rows come by descending sum, the later row first where sums are equal', () => {
  const addition = fc.tuple(fc.integer({ min: 1, max: 5000 }), fc.constantFrom(0.25, 0.5, 1, 3.75))
  fc.assert(
    fc.property(fc.array(addition, { maxLength: 4000 }), (additions) => {
      const sums = new Sums()
      const plain = new Map<number, number>()
      for (const [row, value] of additions) {
        sums.add(row, value)
        plain.set(row, (plain.get(row) ?? 0) + value)
      }
      const expected = [...plain].sort(([rowA, a], [rowB, b]) => b - a || rowB - rowA)
      expect([...sums.descending()]).toEqual(expected.map(([row]) => row))
    }),
    { numRuns: 50 },
  )
})

test('it grows, and rows may be large', () => {
  const sums = new Sums()
  for (let row = 1; row <= 20_000; row++) sums.add(2 ** 40 + row * 4096, row)
  const rows = [...sums.descending()]
  expect(rows).toHaveLength(20_000)
  expect(rows[0]).toBe(2 ** 40 + 20_000 * 4096)
})
