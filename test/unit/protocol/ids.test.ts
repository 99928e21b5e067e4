import { expect, test } from 'vitest'
import { createIds, isMinted } from '../../../src/protocol/ids.js'

const AT = Date.UTC(2026, 6, 28)

function idOf(random: readonly number[]): string {
  return createIds(
    () => AT,
    () => Uint8Array.from(random),
  )()
}

test('time, count, variant and chance stand where RFC 9562 has them', () => {
  const id = idOf([0x3f, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde])
  expect(id).toBe(
    `${AT.toString(16)
      .padStart(12, '0')
      .replace(/^(.{8})/, '$1-')}-7000-bf12-3456789abcde`,
  )
  expect(isMinted(id)).toBe(true)
})

test('each of 62 random bits changes the id, and the first two are the variant', () => {
  const none = [0, 0, 0, 0, 0, 0, 0, 0]
  const ids = new Set([idOf(none)])
  for (let bit = 2; bit < 64; bit++) {
    const byte = bit >> 3
    ids.add(idOf(none.with(byte, 0x80 >> (bit & 7))))
  }
  expect(ids.size).toBe(63)
  expect(new Set([...ids].map((id) => id.charAt(19)))).toEqual(new Set(['8', '9', 'a']))
})

test('ids of one millisecond ascend, and of a clock that stands back too', () => {
  let now = AT
  const next = createIds(
    () => now,
    () => new Uint8Array(8),
  )
  const ids = Array.from({ length: 5000 }, () => next())
  now -= 1000
  ids.push(next())
  expect(ids.toSorted()).toEqual(ids)
  expect(new Set(ids).size).toBe(ids.length)
})
