import fc from 'fast-check'
import { expect, test } from 'vitest'
import { copyWith } from '../../../src/protocol/copy.js'

test('is what a spread makes, the order of the names included', () => {
  const objects = fc.dictionary(fc.constantFrom('a', 'b', 'c', '7', '__x'), fc.jsonValue())
  fc.assert(
    fc.property(objects, objects, (object, fields) => {
      const spread = { ...object, ...fields }
      expect(JSON.stringify(copyWith(object, fields))).toBe(JSON.stringify(spread))
    }),
  )
})

test('leaves the original as it is', () => {
  const original = Object.freeze({ a: 1 })
  expect(copyWith(original, { a: 2, b: 3 })).toEqual({ a: 2, b: 3 })
  expect(original).toEqual({ a: 1 })
})
