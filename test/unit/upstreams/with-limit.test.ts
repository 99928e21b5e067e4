import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Cancellation } from '../../../src/protocol/cancellation.js'
import { Fault } from '../../../src/protocol/errors.js'
import type { Context } from '../../../src/protocol/memory.js'
import { systemClock } from '../../../src/protocol/time.js'
import { withLimit } from '../../../src/upstreams/with-limit.js'
import { anyContext } from '../../support/federation-contexts.js'
import { Gated } from '../../support/upstreams.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function setup(concurrency: number) {
  const gated = new Gated()
  const memory = withLimit(gated, { concurrency, clock: systemClock })
  const call = (over: Partial<Context> = {}) => {
    const deadline = systemClock.monotonic() + 1000
    const ended = memory.call('memory/recall', {}, anyContext({ deadline, ...over }))
    ended.catch(() => {})
    return ended
  }
  return { gated, call }
}

const turns = () => vi.advanceTimersByTimeAsync(0)

test('never more in flight than allowed, and each gets its turn, whatever fails', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 5 }),
      fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }),
      async (concurrency, fails) => {
        const { gated, call } = setup(concurrency)
        const accepted = fails.slice(0, concurrency * 17)
        const calls = accepted.map(() => call())
        for (const [index, failing] of accepted.entries()) {
          await turns()
          if (failing) gated.waiting[index]?.fail(new Fault('cut', 'cut'))
          else gated.waiting[index]?.pass()
        }
        const ends = await Promise.allSettled(calls)
        expect(ends.map(({ status }) => status === 'rejected')).toEqual(accepted)
        expect(gated.most).toBe(Math.min(concurrency, accepted.length))
      },
    ),
  )
})

test('a call whose deadline passes in the queue is never sent, and is told so at that time', async () => {
  const { gated, call } = setup(1)
  const first = call({ deadline: systemClock.monotonic() + 10_000 })
  const queued = call({ deadline: systemClock.monotonic() + 50 })
  const patient = call()
  await vi.advanceTimersByTimeAsync(50)
  await expect(queued).rejects.toMatchObject({ kind: 'busy', outcome: 'not_sent' })
  gated.waiting[0]?.pass()
  await first
  await turns()
  gated.waiting[1]?.pass()
  await patient
  expect(gated.seen).toBe(2)
})

test('a turn that comes after the deadline and before its timer is not taken', async () => {
  const gated = new Gated()
  let now = 0
  const memory = withLimit(gated, {
    concurrency: 1,
    clock: { now: () => now, monotonic: () => now },
  })
  const first = memory.call('memory/recall', {}, anyContext({ deadline: 1000 }))
  const queued = memory.call('memory/recall', {}, anyContext({ deadline: 50 }))
  now = 51
  await turns()
  gated.waiting[0]?.pass()
  await first
  await expect(queued).rejects.toMatchObject({ kind: 'busy' })
  expect(gated.seen).toBe(1)
})

test('a caller that leaves the queue is not sent for, and leaves no timer behind', async () => {
  const { gated, call } = setup(1)
  const cancellation = new Cancellation()
  const first = call()
  const queued = call({ cancellation })
  cancellation.cancel()
  await expect(queued).rejects.toMatchObject({ kind: 'cancelled', outcome: 'not_sent' })
  await expect(call({ cancellation })).rejects.toMatchObject({ kind: 'cancelled' })
  gated.waiting[0]?.pass()
  await first
  await turns()
  expect(gated.seen).toBe(1)
  expect(vi.getTimerCount()).toBe(0)
})

test('the queue is bounded, and takes calls again once it has moved', async () => {
  const { gated, call } = setup(2)
  const calls = Array.from({ length: 2 + 32 }, () => call())
  await expect(call()).rejects.toMatchObject({ kind: 'busy', outcome: 'not_sent' })
  await turns()
  gated.waiting[0]?.pass()
  await calls[0]
  await turns()
  calls.push(call())
  for (let n = 1; n < calls.length; n++) {
    await turns()
    gated.waiting[n]?.pass()
  }
  await Promise.all(calls)
  expect(gated.seen).toBe(35)
})

test('a deadline beyond what a timer can hold is waited for', async () => {
  const { gated, call } = setup(1)
  const first = call()
  const queued = call({ deadline: Number.POSITIVE_INFINITY })
  await vi.advanceTimersByTimeAsync(900)
  gated.waiting[0]?.pass()
  await first
  await turns()
  gated.waiting[1]?.pass()
  await expect(queued).resolves.toEqual({ records: [] })
})
