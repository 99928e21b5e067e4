import fc from 'fast-check'
import { expect, test } from 'vitest'
import { delayAfter, Restarts } from '../../../src/transport/backoff.js'
import { HandClock } from '../../support/hand-clock.js'

const backoff = { first: 100, longest: 1000, stable: 5000 }

test('delays double up to the longest', () => {
  const delays = [1, 2, 3, 4, 5, 6, 1000].map((failures) => delayAfter(failures, backoff, 1))
  expect(delays).toEqual([100, 200, 400, 800, 1000, 1000, 1000])
})

test('jitter keeps a delay between half and the whole', () => {
  const failures = fc.integer({ min: 1, max: 10_000 })
  const random = fc.double({ min: 0, max: 1, noNaN: true })
  fc.assert(
    fc.property(failures, random, (count, jitter) => {
      const whole = delayAfter(count, backoff, 1)
      const delay = delayAfter(count, backoff, jitter)
      expect(delay).toBeGreaterThanOrEqual(whole / 2)
      expect(delay).toBeLessThanOrEqual(whole)
    }),
  )
})

function setUp() {
  const clock = new HandClock()
  const restarts = new Restarts({ backoff, clock, random: () => 1, schedule: clock.schedule })
  const starts: number[] = []
  const start = () => {
    starts.push(clock.now())
    restarts.started()
  }
  return { clock, restarts, starts, start }
}

test('what keeps failing is started later and later', () => {
  const { clock, restarts, starts, start } = setUp()
  start()
  for (const delay of [100, 200, 400]) {
    expect(restarts.ended(start)).toMatchObject({ delay })
    clock.pass(delay)
  }
  expect(starts).toEqual([1000, 1100, 1300, 1700])
})

test('after a stable while the next failure is the first', () => {
  const { clock, restarts, start } = setUp()
  start()
  restarts.ended(start)
  clock.pass(100)
  expect(restarts.ended(start)).toEqual({ attempt: 2, delay: 200 })
  clock.pass(200)
  clock.pass(5000)
  expect(restarts.ended(start)).toEqual({ attempt: 1, delay: 100 })
})

test('nothing is started after the stop', () => {
  const { clock, restarts, starts, start } = setUp()
  restarts.ended(start)
  restarts.stop()
  clock.pass(10_000)
  expect(starts).toEqual([])
})
