import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Cancellation } from '../../../src/protocol/cancellation.js'
import { systemClock } from '../../../src/protocol/time.js'
import { Correlator } from '../../../src/transport/correlator.js'
import type { NoiseReason } from '../../../src/transport/events.js'
import type { Outgoing } from '../../../src/transport/wire.js'
import { meets } from '../../support/meets.js'

function setUp() {
  const noise: NoiseReason[] = []
  const notifications: unknown[] = []
  const correlator = new Correlator(systemClock, {
    onNoise: (reason) => noise.push(reason),
    onNotification: (method, params) => notifications.push([method, params]),
  })
  return { correlator, noise, notifications }
}

function message(id: number, limit = 10_000, cancellation = new Cancellation()): Outgoing {
  const deadline = systemClock.monotonic() + limit
  return { id, text: `request ${id}`, deadline, cancellation, repetition: 'harmful' }
}

const answerTo = (id: unknown, result: unknown = {}) =>
  JSON.stringify({ jsonrpc: '2.0', id, result })

test('answers find their requests in any order', async () => {
  const ids = fc.uniqueArray(fc.integer({ min: 1, max: 1000 }), { minLength: 1, maxLength: 30 })
  const shuffled = ids.chain((asked) =>
    fc.tuple(fc.constant(asked), fc.shuffledSubarray(asked, { minLength: asked.length })),
  )
  await fc.assert(
    fc.asyncProperty(shuffled, async ([asked, answered]) => {
      const { correlator, noise } = setUp()
      const answers = asked.map((id) => correlator.open(message(id)).answer)
      for (const id of answered) correlator.receive(answerTo(id, { of: id }))
      expect(await Promise.all(answers)).toEqual(asked.map((id) => ({ id, result: { of: id } })))
      expect(noise).toEqual([])
    }),
  )
})

test('an error is an answer', async () => {
  const { correlator } = setUp()
  const { answer } = correlator.open(message(1))
  correlator.receive('{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"no"}}')
  expect(await answer).toMatchObject({ id: 1, error: { code: -32002 } })
})

const NOISE: readonly (readonly [string, NoiseReason])[] = [
  ['listening on 8080', 'not_a_message'],
  ['{"jsonrpc":"2.0","id":1,"result":{"rec', 'not_a_message'],
  ['[]', 'not_a_message'],
  ['42', 'not_a_message'],
  ['{"level":"info","msg":"up"}', 'not_a_message'],
  ['{"jsonrpc":"2.0","id":1}', 'not_a_message'],
  [answerTo('1'), 'not_a_message'],
  [answerTo(2), 'unmatched'],
  ['{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}', 'unmatched'],
]
test.each(NOISE)('%s is noise, and the answer still comes', async (text, reason) => {
  const { correlator, noise } = setUp()
  const { answer } = correlator.open(message(1))
  correlator.receive(text)
  expect(noise).toEqual([reason])
  correlator.receive(answerTo(1))
  expect(await answer).toEqual({ id: 1, result: {} })
})

test('a second answer is noise', async () => {
  const { correlator, noise } = setUp()
  const { answer } = correlator.open(message(1))
  correlator.receive(answerTo(1, 'first'))
  correlator.receive(answerTo(1, 'second'))
  expect(await answer).toMatchObject({ result: 'first' })
  expect(noise).toEqual(['unmatched'])
})

test(`notifications go their own way ${meets('8.2/interleaved')}`, () => {
  const { correlator, noise, notifications } = setUp()
  correlator.receive('{"jsonrpc":"2.0","method":"memory/event","params":{"kind":"written"}}')
  expect(notifications).toEqual([['memory/event', { kind: 'written' }]])
  expect(noise).toEqual([])
})

test('at the end of the line, what was sent is cut and the rest was not sent', async () => {
  const { correlator } = setUp()
  const sent = correlator.open(message(1))
  const held = correlator.open(message(2))
  sent.parcel.markSent()
  correlator.failAll('the process ended')
  await expect(sent.answer).rejects.toMatchObject({ kind: 'cut', outcome: 'unknown' })
  await expect(held.answer).rejects.toMatchObject({ kind: 'unreachable', outcome: 'not_sent' })
  expect(held.parcel.unwanted).toBe(true)
})

test('a deadline tells whether the request had left', async () => {
  const { correlator } = setUp()
  const sent = correlator.open(message(1, 20))
  sent.parcel.markSent()
  const held = correlator.open(message(2, 20))
  await expect(sent.answer).rejects.toMatchObject({ kind: 'timeout', outcome: 'unknown' })
  await expect(held.answer).rejects.toMatchObject({ kind: 'timeout', outcome: 'not_sent' })
})

test('so does a cancellation', async () => {
  const { correlator } = setUp()
  const cancellation = new Cancellation()
  const held = correlator.open(message(1, 1000, cancellation))
  cancellation.cancel()
  await expect(held.answer).rejects.toMatchObject({ kind: 'cancelled', outcome: 'not_sent' })
  const late = correlator.open(message(2, 1000, cancellation))
  expect(late.parcel.unwanted).toBe(true)
  await expect(late.answer).rejects.toMatchObject({ kind: 'cancelled', outcome: 'not_sent' })
})

test('it is idle when nothing is under way', async () => {
  const { correlator } = setUp()
  await correlator.idle()
  const { answer } = correlator.open(message(1))
  const idle = correlator.idle()
  correlator.receive(answerTo(1))
  await Promise.all([answer, idle])
})
