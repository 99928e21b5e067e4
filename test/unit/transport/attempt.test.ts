import { expect, test } from 'vitest'
import { Cancellation } from '../../../src/protocol/cancellation.js'
import { Fault } from '../../../src/protocol/errors.js'
import { systemClock } from '../../../src/protocol/time.js'
import { Attempt } from '../../../src/transport/attempt.js'

function attempt(limit: number, cancellation = new Cancellation()): Attempt<string> {
  return new Attempt({ deadline: systemClock.monotonic() + limit, cancellation }, systemClock)
}

test('it settles once, and lets go once', async () => {
  let released = 0
  const cancellation = new Cancellation()
  const one = attempt(1000, cancellation)
  one.onEnd(() => released++)
  one.succeed('first')
  one.succeed('second')
  one.fail('cut', 'too late')
  cancellation.cancel()
  expect(await one.promise).toBe('first')
  expect(one.settled).toBe(true)
  expect(released).toBe(1)
})

test('one that is late or cancelled from the start has ended before anything can be sent', async () => {
  const cancelled = new Cancellation()
  cancelled.cancel()
  const cases = [attempt(0), attempt(-5), attempt(1000, cancelled)]
  expect(cases.map(({ settled }) => settled)).toEqual([true, true, true])
  let released = 0
  for (const one of cases) one.onEnd(() => released++)
  expect(released).toBe(3)
  for (const one of cases) {
    await expect(one.promise).rejects.toMatchObject({ outcome: 'not_sent' })
  }
})

test('a deadline at no time, or far away, does not fire at once', async () => {
  for (const limit of [Number.POSITIVE_INFINITY, 2 ** 40]) {
    const one = attempt(limit)
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(one.settled).toBe(false)
    one.succeed('in time')
    expect(await one.promise).toBe('in time')
  }
})

test('what fails before it is sent cannot have been acted on, whatever the kind', async () => {
  const unsent = attempt(1000)
  unsent.fail('cut', 'gone')
  await expect(unsent.promise).rejects.toMatchObject({ kind: 'cut', outcome: 'not_sent' })
  const sent = attempt(1000)
  sent.markSent()
  sent.fail('cut', 'gone')
  await expect(sent.promise).rejects.toMatchObject({ kind: 'cut', outcome: 'unknown' })
  const exact = attempt(1000)
  exact.markSent()
  exact.failWith(new Fault('unavailable', 'refused', 'not_sent'))
  await expect(exact.promise).rejects.toMatchObject({ outcome: 'not_sent' })
})
