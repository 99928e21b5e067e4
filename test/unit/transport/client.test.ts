import { expect, test } from 'vitest'
import { A2mError } from '../../../src/protocol/errors.js'
import { JsonText } from '../../../src/protocol/json.js'
import type { Memory } from '../../../src/protocol/memory.js'
import { type Method, SPECS } from '../../../src/protocol/methods.js'
import { readReply } from '../../../src/protocol/rpc.js'
import { createClient } from '../../../src/transport/client.js'
import type { Outgoing } from '../../../src/transport/wire.js'
import { contextWithin } from '../../support/contexts.js'

/** A client whose server answers with what `reply` makes of each message, as text. */
function clientOf(reply: (message: Outgoing) => string) {
  const sent: Outgoing[] = []
  let closed = 0
  const memory: Memory = createClient({
    async send(message) {
      sent.push(message)
      const response = readReply(reply(message))
      if ('notification' in response) throw new Error('no answer')
      return response
    },
    async close() {
      closed++
    },
  })
  return { memory, sent, closings: () => closed }
}

const records = (id: unknown) => JSON.stringify({ jsonrpc: '2.0', id, result: { records: [] } })
const recall = (memory: Memory) => memory.call('memory/recall', { query: 'q' }, contextWithin(1000))

test('ids count up, and the whole request is in the text', async () => {
  const { memory, sent } = clientOf(({ id }) => records(id))
  await recall(memory)
  await recall(memory)
  expect(sent.map(({ id }) => id)).toEqual([1, 2])
  expect(JSON.parse(sent[1]?.text ?? '')).toEqual({
    jsonrpc: '2.0',
    id: 2,
    method: 'memory/recall',
    params: { query: 'q' },
  })
})

test('deadline and cancellation travel with the message', async () => {
  const { memory, sent } = clientOf(({ id }) => records(id))
  const context = contextWithin(1000)
  await memory.call('memory/recall', {}, context)
  expect(sent[0]).toMatchObject({ deadline: context.deadline })
  expect(sent[0]?.cancellation).toBe(context.cancellation)
})

test('only what reads may come twice', async () => {
  const { memory, sent } = clientOf(() => '{"jsonrpc":"2.0","id":null,"error":{"code":-32603}}')
  const methods = Object.keys(SPECS) as Method[]
  for (const method of methods) {
    await memory.call(method, {} as never, contextWithin(1000)).catch(() => {})
  }
  const harmless = methods.filter((_, index) => sent[index]?.repetition === 'harmless')
  expect(harmless).toEqual([
    'memory/describe',
    'memory/recall',
    'memory/timeline',
    'memory/fetch',
    'memory/session/list',
    'memory/events',
  ])
})

test.each([2, 0, -1, 1.5])('an answer to request %s is not ours', async (id) => {
  const { memory } = clientOf(() => records(id))
  await expect(recall(memory)).rejects.toMatchObject({ kind: 'bad_reply', outcome: 'unknown' })
})

test('an error to another request is not ours, one without an id is', async () => {
  const error = (id: unknown) =>
    JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32002, message: 'no', data: { a: 1 } } })
  await expect(recall(clientOf(() => error(7)).memory)).rejects.toMatchObject({ kind: 'bad_reply' })
  const ours = await recall(clientOf(() => error(null)).memory).catch((thrown: unknown) => thrown)
  expect(ours).toBeInstanceOf(A2mError)
  expect(ours).toMatchObject({ code: -32002, message: 'no', data: { a: 1 } })
})

test('a result of another shape is a bad reply that names the place', async () => {
  const { memory } = clientOf(({ id }) =>
    JSON.stringify({ jsonrpc: '2.0', id, result: { records: [{ id: 5 }] } }),
  )
  await expect(recall(memory)).rejects.toThrow(/records\[0\]/)
})

test('metadata keeps its numerals in both directions', async () => {
  const metadata = '{"n":9007199254740993,"z":-0,"__proto__":1.0}'
  const { memory, sent } = clientOf(
    ({ id }) =>
      `{"jsonrpc":"2.0","id":${id},"result":{"records":[{"id":"1","content":"c","created_at":"2026-01-01T00:00:00.000Z","metadata":${metadata}}]}}`,
  )
  const { records: found } = await recall(memory)
  expect(found[0]?.metadata?.text).toBe(metadata)
  const write = { records: [{ content: 'c', metadata: new JsonText(metadata) }] }
  await memory.call('memory/remember', write, contextWithin(1000)).catch(() => {})
  expect(sent[1]?.text).toContain(`"metadata":${metadata}`)
})

test('closing closes the wire', async () => {
  const { memory, closings } = clientOf(() => '')
  await memory.close()
  expect(closings()).toBe(1)
})
