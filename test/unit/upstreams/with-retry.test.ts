import { describe, expect, test } from 'vitest'
import { Cancellation } from '../../../src/protocol/cancellation.js'
import { A2mError, FAULTS, Fault, type FaultKind } from '../../../src/protocol/errors.js'
import type { Context } from '../../../src/protocol/memory.js'
import type { Method, ParamsOf } from '../../../src/protocol/methods.js'
import { withRetry } from '../../../src/upstreams/with-retry.js'
import { anyContext } from '../../support/federation-contexts.js'
import { HandClock } from '../../support/hand-clock.js'
import { meets } from '../../support/meets.js'
import { Faulty, PlainMemory } from '../../support/plain-memory.js'

const RETRIES = 2

async function attempts<M extends Method>(
  { method, params }: { readonly method: M; readonly params: ParamsOf<M> },
  error: Error,
  over: Partial<Context> = {},
  failing: (attempt: number) => void = () => {},
): Promise<number> {
  const clock = new HandClock()
  const faulty = new Faulty(new PlainMemory())
  let seen = 0
  let told = 0
  faulty.fault = () => {
    failing(++seen)
    return error
  }
  const memory = withRetry(faulty, { retries: RETRIES, clock })
  const context = anyContext({ deadline: clock.monotonic() + 1000, attempt: () => told++, ...over })
  await expect(memory.call(method, params, context)).rejects.toBe(error)
  expect(told).toBe(seen)
  return seen
}

const recall = { method: 'memory/recall', params: { query: 'x' } } as const
const named = {
  method: 'memory/remember',
  params: { records: [{ id: 'a', content: 'x' }] },
} as const
const CALLS = {
  recall,
  timeline: { method: 'memory/timeline', params: {} },
  describe: { method: 'memory/describe', params: {} },
  'remember with ids': named,
  'remember without an id': {
    method: 'memory/remember',
    params: { records: [{ id: 'a', content: 'x' }, { content: 'y' }] },
  },
  'remember with a key': {
    method: 'memory/remember',
    params: { records: [{ id: 'a', key: 'k', content: 'x' }] },
  },
  forget: { method: 'memory/forget', params: { ids: ['a'] } },
  promote: { method: 'memory/promote', params: { ids: ['a'], tier: 't' } },
  consolidate: { method: 'memory/consolidate', params: {} },
} as const

const READS = ['recall', 'timeline', 'describe', 'remember with ids']

describe.each(Object.entries(CALLS))('%s', (name, call) => {
  test.each(Object.keys(FAULTS) as FaultKind[])('after a fault: %s', async (kind) => {
    const again = kind === 'unreachable' || (kind === 'cut' && READS.includes(name))
    const asked: { readonly method: Method; readonly params: object } = call
    expect(await attempts(asked, new Fault(kind, kind))).toBe(again ? 1 + RETRIES : 1)
  })

  test('cut before anything was sent', async () => {
    const asked: { readonly method: Method; readonly params: object } = call
    expect(await attempts(asked, new Fault('cut', 'cut', 'not_sent'))).toBe(1 + RETRIES)
  })

  test(`an answer is final ${meets('2.1/tolerated')}`, async () => {
    const asked: { readonly method: Method; readonly params: object } = call
    expect(await attempts(asked, new A2mError('INTERNAL_ERROR', 'no'))).toBe(1)
  })
})

const cut = new Fault('cut', 'cut')

test('nothing is repeated after the deadline', async () => {
  expect(await attempts(recall, cut, { deadline: 1000 })).toBe(1)
})

test('nothing is repeated for a caller that has left', async () => {
  const cancellation = new Cancellation()
  expect(
    await attempts(recall, cut, { cancellation }, (attempt) => {
      if (attempt === 2) cancellation.cancel()
    }),
  ).toBe(2)
})

test('the first answer ends it', async () => {
  const plain = new PlainMemory()
  const faulty = new Faulty(plain)
  let seen = 0
  faulty.fault = () => (++seen === 1 ? cut : undefined)
  const clock = new HandClock()
  const memory = withRetry(faulty, { retries: 5, clock })
  const context = anyContext({ deadline: clock.monotonic() + 1000 })
  await expect(
    memory.call(named.method, { records: [...named.params.records] }, context),
  ).resolves.toEqual({ ids: ['a'] })
  expect(seen).toBe(2)
  expect(plain.records).toHaveLength(1)
})
