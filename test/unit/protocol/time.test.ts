import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatInstant, parseInstant } from '../../../src/protocol/time.js'

test.each([
  ['2026-07-28T10:15:30.123Z', '2026-07-28T10:15:30.123Z'],
  ['2026-07-28T10:15:30Z', '2026-07-28T10:15:30.000Z'],
  ['2026-07-28t10:15:30.1z', '2026-07-28T10:15:30.100Z'],
  ['2026-07-28 10:15:30Z', '2026-07-28T10:15:30.000Z'],
  ['2026-07-28T12:15:30.123+02:00', '2026-07-28T10:15:30.123Z'],
  ['2026-07-28T00:15:30-10:30', '2026-07-28T10:45:30.000Z'],
  ['2026-01-01T00:30:00+01:00', '2025-12-31T23:30:00.000Z'],
  ['2026-07-28T10:15:30-00:00', '2026-07-28T10:15:30.000Z'],
  ['2026-07-28T10:15:30.123999Z', '2026-07-28T10:15:30.123Z'],
  ['2026-07-28T10:15:30.999999999999Z', '2026-07-28T10:15:30.999Z'],
  ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
  ['2017-01-01T00:59:60+01:00', '2017-01-01T00:00:00.000Z'],
  ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
  ['2000-02-29T00:00:00Z', '2000-02-29T00:00:00.000Z'],
  ['0000-01-01T00:00:00Z', '0000-01-01T00:00:00.000Z'],
  ['0099-12-31T23:59:59Z', '0099-12-31T23:59:59.000Z'],
  ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ['9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59.999Z'],
  ['1969-12-31T23:59:59.9995Z', '1969-12-31T23:59:59.999Z'],
])('%s is %s', (text, wanted) => {
  const instant = parseInstant(text)
  expect(instant).toBeDefined()
  expect(formatInstant(instant ?? 0)).toBe(wanted)
})

test.each([
  '',
  'yesterday',
  '1785233730123',
  '2026-07-28',
  '2026-07-28T10:15Z',
  '2026-07-28T10:15:30',
  '2026-07-28T10:15:30.Z',
  '2026-07-28T10:15:30,5Z',
  '2026-07-28T10:15:30+0200',
  '2026-07-28T10:15:30+24:00',
  '2026-07-28T10:15:30+02:60',
  '2026-00-28T10:15:30Z',
  '2026-13-28T10:15:30Z',
  '2026-07-00T10:15:30Z',
  '2026-07-32T10:15:30Z',
  '2026-04-31T10:15:30Z',
  '2026-02-29T10:15:30Z',
  '1900-02-29T10:15:30Z',
  '2026-07-28T24:00:00Z',
  '2026-07-28T10:60:00Z',
  '2026-07-28T10:15:61Z',
  '9999-12-31T23:59:60Z',
  '9999-12-31T23:59:59-01:00',
  '0000-01-01T00:00:00+00:01',
  '+12026-07-28T10:15:30Z',
  ' 2026-07-28T10:15:30Z',
  '2026-07-28T10:15:30Z\n',
  '２０２６-07-28T10:15:30Z',
])('%j is no instant', (text) => {
  expect(parseInstant(text)).toBeUndefined()
})

const MIN = Date.UTC(-1, 12)
const dates = fc.date({
  min: new Date(MIN),
  max: new Date(Date.UTC(9999, 11, 31)),
  noInvalidDate: true,
})

test('every instant reads back as it was printed', () => {
  fc.assert(
    fc.property(dates, (date) => {
      expect(parseInstant(date.toISOString())).toBe(date.getTime())
      expect(formatInstant(date.getTime())).toBe(date.toISOString())
    }),
    { numRuns: 500 },
  )
})

test('an offset shifts by as much as it says', () => {
  const offsets = fc.tuple(fc.constantFrom('+', '-'), fc.nat(13), fc.nat(59))
  fc.assert(
    fc.property(
      fc.date({ min: new Date('1900-01-01'), max: new Date('2200-01-01'), noInvalidDate: true }),
      offsets,
      (date, [sign, hours, minutes]) => {
        const pad = (n: number) => String(n).padStart(2, '0')
        const shift = (sign === '+' ? 1 : -1) * (hours * 60 + minutes) * 60_000
        const local = new Date(date.getTime() + shift).toISOString().slice(0, -1)
        expect(parseInstant(`${local}${sign}${pad(hours)}:${pad(minutes)}`)).toBe(date.getTime())
      },
    ),
  )
})

test('a finer fraction is cut, not rounded', () => {
  fc.assert(
    fc.property(dates, fc.stringMatching(/^\d{1,9}$/), (date, digits) => {
      const finer = date.toISOString().replace('Z', `${digits}Z`)
      expect(formatInstant(parseInstant(finer) ?? 0)).toBe(date.toISOString())
    }),
    { numRuns: 500 },
  )
})

test('instants within one millisecond keep their order', () => {
  const [a = 0, b = 0, c = 0] = ['30.123', '30.123001', '30.123499'].map((seconds) =>
    parseInstant(`2026-07-28T10:15:${seconds}Z`),
  )
  expect(a < b && b < c).toBe(true)
  expect(formatInstant(c)).toBe('2026-07-28T10:15:30.123Z')
})
