import { expect, test } from 'vitest'
import { A2mError, FAULTS, Fault, type FaultKind } from '../../../src/protocol/errors.js'
import { Breaker, withBreaker } from '../../../src/upstreams/with-breaker.js'
import { anyContext } from '../../support/federation-contexts.js'
import { HandClock } from '../../support/hand-clock.js'
import { meets } from '../../support/meets.js'
import { Faulty, PlainMemory } from '../../support/plain-memory.js'
import { Gated } from '../../support/upstreams.js'

const RESET = 5000
const DOWN = new Fault('unreachable', 'connection refused')

function setup() {
  const clock = new HandClock()
  const states: string[] = []
  const breaker = new Breaker({
    failures: 5,
    reset: RESET,
    clock,
    onChange: (state) => states.push(state),
  })
  const plain = new PlainMemory()
  const faulty = new Faulty(plain)
  const memory = withBreaker(faulty, breaker)
  const call = () => memory.call('memory/recall', {}, anyContext())
  return { clock, states, breaker, plain, faulty, memory, call }
}

async function failures(call: () => Promise<unknown>, times: number): Promise<unknown[]> {
  const ends = await Promise.allSettled(Array.from({ length: times }, call))
  return ends.map((end) => (end.status === 'rejected' ? end.reason : undefined))
}

test('open, quiet, one failing probe, then healthy: it closes', async () => {
  const { clock, states, faulty, plain, call } = setup()
  faulty.fault = () => DOWN
  for (let n = 0; n < 5; n++) await expect(call()).rejects.toBe(DOWN)
  await expect(call()).rejects.toMatchObject({ kind: 'unavailable', outcome: 'not_sent' })
  clock.pass(RESET)
  await expect(call()).rejects.toBe(DOWN)
  clock.pass(RESET - 1)
  await expect(call()).rejects.toMatchObject({ kind: 'unavailable' })
  faulty.fault = () => undefined
  clock.pass(1)
  await call()
  await call()
  expect(states).toEqual(['open', 'half-open', 'open', 'half-open', 'closed'])
  expect(plain.asked).toHaveLength(2)
})

test('100 failures at once, then healthy: it closes', async () => {
  const { clock, breaker, faulty, call } = setup()
  faulty.fault = () => DOWN
  await failures(call, 100)
  expect(breaker.state).toBe('open')
  faulty.fault = () => undefined
  clock.pass(RESET)
  await call()
  expect(breaker.state).toBe('closed')
  faulty.fault = () => DOWN
  await failures(call, 4)
  expect(breaker.state).toBe('closed')
})

test('200 waiting calls at half open: the upstream sees one, and no other waits for it', async () => {
  const { clock, breaker, faulty, call } = setup()
  faulty.fault = () => DOWN
  await failures(call, 5)
  clock.pass(RESET)
  const gated = new Gated()
  const memory = withBreaker(gated, breaker)
  const calls = Array.from({ length: 200 }, () => memory.call('memory/recall', {}, anyContext()))
  const refused = await Promise.allSettled(calls.slice(1))
  expect(refused.every((end) => end.status === 'rejected')).toBe(true)
  expect(gated.seen).toBe(1)
  gated.waiting[0]?.pass()
  await calls[0]
  expect(breaker.state).toBe('closed')
})

test.each(Object.keys(FAULTS) as FaultKind[])(
  'a %s counts where it speaks of health',
  async (kind) => {
    const { breaker, faulty, call } = setup()
    faulty.fault = () => new Fault(kind, kind)
    await failures(call, 5)
    const ours: readonly FaultKind[] = ['unavailable', 'busy', 'cancelled', 'too_large']
    expect(breaker.state).toBe(ours.includes(kind) ? 'closed' : 'open')
  },
)

test(`an error that the upstream answered never counts, and ends a row of failures ${meets('2.1/tolerated')}`, async () => {
  const { breaker, faulty, call } = setup()
  faulty.fault = () => new A2mError('INTERNAL_ERROR', 'no')
  await failures(call, 20)
  expect(breaker.state).toBe('closed')
  for (let n = 0; n < 12; n++) {
    faulty.fault = () => (n % 4 === 3 ? new A2mError('INVALID_PARAMS', 'no') : DOWN)
    await failures(call, 1)
  }
  expect(breaker.state).toBe('closed')
})

test.each([
  ['cancelled', new Fault('cancelled', 'the caller left')],
  ['broken here', new TypeError('a fault of ours')],
])('a probe that was %s decides nothing: the next call is one', async (_, error) => {
  const { clock, breaker, faulty, call } = setup()
  faulty.fault = () => DOWN
  await failures(call, 5)
  clock.pass(RESET)
  faulty.fault = () => error
  await expect(call()).rejects.toBe(error)
  expect(breaker.state).toBe('open')
  faulty.fault = () => undefined
  await call()
  expect(breaker.state).toBe('closed')
})

test('calls from before that end late neither close nor prolong it', async () => {
  const { clock, breaker, faulty, call } = setup()
  const gated = new Gated()
  const before = withBreaker(gated, breaker)
  const late = [1, 2].map(() => before.call('memory/recall', {}, anyContext()))
  faulty.fault = () => DOWN
  await failures(call, 5)
  gated.waiting[0]?.pass()
  await late[0]
  expect(breaker.state).toBe('open')
  clock.pass(RESET - 1)
  gated.waiting[1]?.fail(DOWN)
  await expect(late[1]).rejects.toBe(DOWN)
  clock.pass(1)
  faulty.fault = () => undefined
  await call()
  expect(breaker.state).toBe('closed')
})
