import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Standing } from '../../../src/stores/standings.js'
import { lightestFirst } from '../../../src/stores/weight.js'

const NOW = 1_000_000
const FADING = { halfLife: 1000, now: NOW }

function standing(seq: number, said: Partial<Standing> = {}): Standing {
  return { seq, group: null, salience: null, created_at: NOW, accessed_at: null, ...said }
}

const order = (...standings: readonly Standing[]) =>
  lightestFirst(standings, FADING).map(({ seq }) => seq)

test('half the worth goes with each half-life since the last use', () => {
  const fresh = standing(1)
  const twiceAsDear = standing(2, { salience: 2, created_at: NOW - 1001 })
  const dearer = standing(3, { salience: 2, created_at: NOW - 999 })
  const used = standing(4, { created_at: NOW - 90_000, accessed_at: NOW - 500 })
  expect(order(dearer, fresh, used, twiceAsDear)).toEqual([4, 2, 1, 3])
})

test('of equals the oldest go first, as they stand', () => {
  expect(order(standing(5), standing(3), standing(9))).toEqual([5, 3, 9])
})

test('nothing is weaker than what is worth nothing, and ages beyond all doubles keep their order', () => {
  const zero = standing(1, { salience: 0 })
  const below = standing(2, { salience: -3 })
  const ancient = standing(3, { created_at: -1e15 })
  const older = standing(4, { created_at: -1e15 - 1e6 })
  expect(order(ancient, older, zero, below)).toEqual([1, 2, 4, 3])
})

test('a group stands where its heaviest member does', () => {
  const member = (seq: number, salience: number) => standing(seq, { salience, group: 'g' })
  expect(order(standing(1, { salience: 0.5 }), member(2, 0.1), member(3, 3), standing(4))).toEqual([
    1, 4, 2, 3,
  ])
})

test('all come out, whatever their worth', () => {
  const any = fc.record({
    seq: fc.nat(),
    group: fc.constantFrom(null, 'g', 'h'),
    salience: fc.oneof(fc.constant(null), fc.double({ noNaN: true })),
    created_at: fc.integer(),
    accessed_at: fc.option(fc.integer()),
  })
  fc.assert(
    fc.property(fc.array(any), (standings) => {
      const sorted = lightestFirst(standings, FADING)
      expect(sorted).toHaveLength(standings.length)
      expect(standings.every((one) => sorted.includes(one))).toBe(true)
    }),
  )
})
