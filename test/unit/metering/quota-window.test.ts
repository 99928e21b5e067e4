import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HELD_MS, QuotaTime, spanAt } from '../../../src/metering/quota-window.js'
import { WallClock } from '../../support/quotas.js'

const at = (text: string): number => Date.parse(text)

test.each([
  [60_000, '2027-03-10T12:34:56.789Z', '2027-03-10T12:34:00Z', '2027-03-10T12:35:00Z'],
  [86_400_000, '2027-03-10T12:34:56Z', '2027-03-10T00:00:00Z', '2027-03-11T00:00:00Z'],
  ['month', '2027-12-31T23:59:59.999Z', '2027-12-01T00:00:00Z', '2028-01-01T00:00:00Z'],
  ['month', '2028-02-29T00:00:00Z', '2028-02-01T00:00:00Z', '2028-03-01T00:00:00Z'],
  [43_200_000, '2027-03-10T12:00:00Z', '2027-03-10T12:00:00Z', '2027-03-11T00:00:00Z'],
] as const)('a window of %s at %s', (window, now, start, end) => {
  expect(spanAt(window, at(now))).toEqual({ start: at(start), end: at(end) })
})

test('every instant lies in exactly one window', () => {
  const windows = fc.constantFrom<number | 'month'>('month', 1000, 60_000, 86_400_000, 7_000_000)
  const instants = fc.integer({ min: 0, max: at('2100-01-01T00:00:00Z') })
  fc.assert(
    fc.property(windows, instants, (window, now) => {
      const { start, end } = spanAt(window, now)
      expect(start).toBeLessThanOrEqual(now)
      expect(end).toBeGreaterThan(now)
      expect(spanAt(window, end).start).toBe(end)
      expect(spanAt(window, end - 1)).toEqual({ start, end })
    }),
  )
})

test('a clock that is put back is waited for', () => {
  const clock = new WallClock('2027-03-10T12:00:30Z')
  const time = new QuotaTime(clock, 0)
  expect(time.span(60_000).start).toBe(at('2027-03-10T12:00:00Z'))
  clock.set('2027-03-10T11:59:59Z')
  expect(time.span(60_000).start).toBe(at('2027-03-10T12:00:00Z'))
  clock.set('2027-03-10T11:00:30Z')
  expect(time.span(60_000).start).toBe(at('2027-03-10T12:00:00Z'))
  clock.set('2027-03-10T12:01:00Z')
  expect(time.span(60_000).start).toBe(at('2027-03-10T12:01:00Z'))
})

test('one that is put back by more than an hour was wrong before, and is followed', () => {
  const clock = new WallClock('2030-01-01T00:00:00Z')
  const time = new QuotaTime(clock, 0)
  time.now()
  clock.set('2027-03-10T12:00:00Z')
  expect(time.span(60_000).start).toBe(at('2027-03-10T12:00:00Z'))
})

test('what is known from an earlier run is a time that has been', () => {
  const clock = new WallClock('2027-03-10T11:59:00Z')
  expect(new QuotaTime(clock, at('2027-03-10T12:00:00Z')).now()).toBe(at('2027-03-10T12:00:00Z'))
  expect(new QuotaTime(clock, clock.now() + HELD_MS + 1).now()).toBe(clock.now())
})
