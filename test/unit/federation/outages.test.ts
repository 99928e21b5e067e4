import { afterEach, describe, expect, test } from 'vitest'
import { A2mError, Fault } from '../../../src/protocol/errors.js'
import {
  openFederation,
  type TestFederation,
  tierConfig,
  type Upstreams,
} from '../../support/federation.js'
import { anyContext, observed } from '../../support/federation-contexts.js'
import { meets } from '../../support/meets.js'
import { Faulty, PlainMemory } from '../../support/plain-memory.js'

let fixture: TestFederation | undefined
afterEach(() => fixture?.close())

const LIMIT = 60

function three() {
  const memories = ['a', 'b', 'c'].map((name) => {
    const plain = new PlainMemory()
    plain.records.push({
      id: name,
      content: `apple of ${name}`,
      created_at: '2026-01-01T00:00:00.000Z',
    })
    return new Faulty(plain)
  })
  return memories as [Faulty, Faulty, Faulty]
}

async function over(memories: readonly Faulty[]): Promise<TestFederation> {
  const names = ['a', 'b', 'c']
  const upstreams: Upstreams = Object.fromEntries(
    memories.map((memory, index) => [
      names[index] ?? '',
      { memory, config: { timeout: LIMIT, ids: 'own' as const } },
    ]),
  )
  fixture = await openFederation({ upstreams, tiers: names.map((name) => tierConfig(name, name)) })
  return fixture
}

const refused = () => new Fault('unreachable', 'connection refused')

describe.each([
  [0, 1],
  [0, 2],
  [1, 2],
  [1, 0],
  [2, 0],
  [2, 1],
])('upstream %i refusing and %i hanging', (refusing, hanging) => {
  test.each(['memory/recall', 'memory/timeline'] as const)(
    '%s: a marked answer within the limit',
    async (method) => {
      const memories = three()
      const { federation } = await over(memories)
      const names = ['a', 'b', 'c']
      memories.forEach((memory, index) => {
        if (index === refusing) memory.fault = refused
        if (index === hanging) memory.fault = () => 'hang'
      })
      const started = performance.now()
      const { context, asks } = observed(anyContext())
      const params = method === 'memory/recall' ? { query: 'apple' } : {}
      const { records, federation: report } = await federation.call(method, params, context)
      expect(performance.now() - started).toBeLessThan(LIMIT + 1000)
      expect(records).toHaveLength(1)
      expect(report?.partial).toBe(true)
      expect(report?.upstreams[names[refusing] ?? '']).toMatchObject({
        state: 'failed',
        reason: 'connection refused',
      })
      expect(report?.upstreams[names[hanging] ?? '']).toMatchObject({ state: 'timeout' })
      expect(asks.map(({ state }) => state).toSorted()).toEqual(['failed', 'ok', 'timeout'])
    },
  )
})

test('all down is an error, never an empty list', async () => {
  const memories = three()
  const { federation } = await over(memories)
  for (const memory of memories) memory.fault = refused
  await expect(
    federation.call('memory/recall', { query: 'x' }, anyContext()),
  ).rejects.toMatchObject({
    code: -32603,
    data: { federation: { partial: true, upstreams: { a: { state: 'failed' } } } },
  })
})

test('an upstream that refuses the params is a gap with its code; when all do, it is the call that is wrong', async () => {
  const memories = three()
  const { federation } = await over(memories)
  const invalid = () => new A2mError('INVALID_PARAMS', 'limit: too much')
  memories[1].fault = invalid
  const { federation: report } = await federation.call(
    'memory/recall',
    { query: 'apple' },
    anyContext(),
  )
  expect(report).toMatchObject({
    partial: true,
    upstreams: { b: { state: 'refused', code: -32602 } },
  })
  for (const memory of memories) memory.fault = invalid
  await expect(
    federation.call('memory/recall', { query: 'x' }, anyContext()),
  ).rejects.toMatchObject({ code: -32602 })
})

test('an answer after an outage is whole', async () => {
  const memories = three()
  const { federation } = await over(memories)
  memories[2].fault = refused
  const during = await federation.call('memory/recall', { query: 'apple' }, anyContext())
  memories[2].fault = () => undefined
  const after = await federation.call('memory/recall', { query: 'apple' }, anyContext())
  expect([during.federation?.partial, during.records.length]).toEqual([true, 2])
  expect([after.federation?.partial, after.records.length]).toEqual([false, 3])
})

test('who wants no partial answer gets an error for a gap', async () => {
  const memories = three()
  const { federation } = await over(memories)
  memories[0].fault = refused
  const call = federation.call('memory/recall', { query: 'apple', partial: false }, anyContext())
  await expect(call).rejects.toMatchObject({ code: -32603 })
})

test(`a batch that fails half-way is taken back, and the error says what is left ${meets('4.2/no-short-list')}`, async () => {
  const memories = three()
  const { federation, state } = await over(memories)
  memories[1].fault = (method) => (method === 'memory/remember' ? refused() : undefined)
  const records = [
    { content: 'one', tier: 'a' },
    { content: 'named', tier: 'a', id: 'mine' },
    { content: 'two', tier: 'b' },
  ]
  await expect(federation.call('memory/remember', { records }, anyContext())).rejects.toMatchObject(
    {
      code: -32603,
      data: { upstream: 'b', outcome: 'not_sent', remaining: ['mine'] },
    },
  )
  const { records: left } = await federation.call('memory/timeline', { tier: 'a' }, anyContext())
  expect(left.map(({ content }) => content).toSorted()).toEqual(['apple of a', 'named'])
  expect(state.journal.openWrites()).toEqual([])
})

test('a write with an id needs every place where it could live', async () => {
  const memories = three()
  const { federation } = await over(memories)
  memories[2].fault = refused
  const records = [{ id: 'x', content: 'x', tier: 'a' }]
  await expect(federation.call('memory/remember', { records }, anyContext())).rejects.toMatchObject(
    {
      data: { outcome: 'not_sent', upstreams: ['c'] },
    },
  )
  await expect(
    federation.call('memory/remember', { records: [{ content: 'x', tier: 'a' }] }, anyContext()),
  ).resolves.toMatchObject({ ids: [expect.any(String)] })
})

test('a forget that an upstream did not confirm says how many are gone', async () => {
  const memories = three()
  const { federation } = await over(memories)
  memories[1].fault = (method) => (method === 'memory/forget' ? new Fault('cut', 'cut') : undefined)
  await expect(
    federation.call('memory/forget', { ids: ['a', 'b', 'c'] }, anyContext()),
  ).rejects.toMatchObject({
    data: { forgotten: 2, upstreams: ['b'] },
  })
})

test('a journal that cannot be written is said to be so, and nothing is sent', async () => {
  const memories = three()
  const { federation, state } = await over(memories)
  const full = () => {
    throw new Error('the disk is full')
  }
  Object.assign(state.journal, { beginWrite: full, beginMoves: full })
  const records = ['a', 'b'].map((tier) => ({ content: 'x', tier }))
  const written = federation.call('memory/remember', { records }, anyContext())
  await expect(written).rejects.toMatchObject({ code: -32603, data: { outcome: 'not_sent' } })
  const moved = federation.call('memory/promote', { ids: ['a'], tier: 'b' }, anyContext())
  await expect(moved).rejects.toMatchObject({ code: -32603, data: { outcome: 'not_sent' } })
  expect((await federation.call('memory/timeline', {}, anyContext())).records).toHaveLength(3)
})

test('what cannot be taken back for want of a journal is named as remaining', async () => {
  const memories = three()
  const { federation, state } = await over(memories)
  memories[1].fault = (method) => (method === 'memory/remember' ? refused() : undefined)
  Object.assign(state.journal, {
    endWrite: () => {
      throw new Error('the disk is full')
    },
  })
  const records = ['a', 'b'].map((tier) => ({ content: 'x', tier }))
  await expect(federation.call('memory/remember', { records }, anyContext())).rejects.toMatchObject(
    {
      data: { upstream: 'b', remaining: [expect.any(String)] },
    },
  )
})
