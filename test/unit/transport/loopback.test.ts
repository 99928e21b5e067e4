import { expect, test } from 'vitest'
import { A2mError, Fault } from '../../../src/protocol/errors.js'
import { JsonText, print } from '../../../src/protocol/json.js'
import type { Context, Memory } from '../../../src/protocol/memory.js'
import type { Served } from '../../../src/protocol/serve.js'
import { createLoopback } from '../../../src/transport/in-process.js'
import { contextWithin } from '../../support/contexts.js'

/** A served memory that keeps what it was asked and answers as told. */
function setUp(answer: () => unknown) {
  const calls: { method: string; params: unknown; context: Context }[] = []
  let closed = 0
  const served: Served = {
    refusal: (method) =>
      method === 'memory/fetch' ? new A2mError('CAPABILITY_NOT_SUPPORTED', 'no keys') : undefined,
    recognised: (_method, params) => params,
    async call(method, params, context) {
      calls.push({ method, params, context })
      return answer() as never
    },
    async close() {
      closed++
    },
  }
  const memory: Memory = createLoopback(served, (context) => ({ ...context, trace: 'inner' }))
  return { memory, calls, closings: () => closed }
}

test('params and results go through text, so that what has no JSON does not pass', async () => {
  const record = { id: '1', content: 'c', created_at: '2026-01-01T00:00:00.000Z', weird: undefined }
  const { memory, calls } = setUp(() => ({ records: [record] }))
  const params = { query: 'q', tier: undefined }
  const result = await memory.call('memory/recall', params, contextWithin(1000))
  expect(Object.keys(result.records[0] ?? {})).not.toContain('weird')
  expect(result.records[0]).not.toBe(record)
  expect(calls[0]?.params).toEqual({ query: 'q' })
  expect(calls[0]?.params).not.toBe(params)
})

test('metadata passes to the letter', async () => {
  const { memory, calls } = setUp(() => ({ ids: ['1'] }))
  const metadata = new JsonText('{"n":1.0,"big":9007199254740993}')
  const params = { records: [{ content: 'c', metadata }] }
  await memory.call('memory/remember', params, contextWithin(1000))
  expect(print(calls[0]?.params)).toBe(
    '{"records":[{"content":"c","metadata":{"n":1.0,"big":9007199254740993}}]}',
  )
})

test('the other side works on the context that it is given', async () => {
  const { memory, calls } = setUp(() => ({ records: [] }))
  const context = contextWithin(1000)
  await memory.call('memory/recall', {}, context)
  expect(calls[0]?.context).toMatchObject({ trace: 'inner', deadline: context.deadline })
})

test('refusals and errors come back with their codes, faults without their kind', async () => {
  const fetching = setUp(() => ({}))
  await expect(
    fetching.memory.call('memory/fetch', { key: 'k' }, contextWithin(1000)),
  ).rejects.toMatchObject({ code: -32003 })
  const failing = setUp(() => {
    throw new Fault('timeout', 'too slow')
  })
  await expect(failing.memory.call('memory/recall', {}, contextWithin(1000))).rejects.toMatchObject(
    { name: 'A2mError', code: -32603, data: { fault: 'timeout' } },
  )
})

test('a result of another shape is refused', async () => {
  const { memory } = setUp(() => ({ nonsense: true }))
  await expect(memory.call('memory/recall', {}, contextWithin(1000))).rejects.toMatchObject({
    kind: 'bad_reply',
  })
})

test('closing closes the other side', async () => {
  const { memory, closings } = setUp(() => ({}))
  await memory.close()
  expect(closings()).toBe(1)
})
