import { once } from 'node:events'
import { PassThrough, Writable } from 'node:stream'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createDispatch } from '../../../src/edge/dispatch.js'
import { serveStdio } from '../../../src/edge/stdio.js'
import { createTraces } from '../../../src/edge/trace.js'
import { stdioCaller } from '../../../src/identity/identity.js'
import { A2mError } from '../../../src/protocol/errors.js'
import type { Connection } from '../../../src/protocol/memory.js'
import { systemClock } from '../../../src/protocol/time.js'
import { gate, message, NOTHING, type Reached, servedBy } from '../../e2e/edge-fixture.js'

function start(handler: (reached: Reached) => unknown, output: Writable = new PassThrough()) {
  const input = new PassThrough()
  const lines: string[] = []
  const heard = new PassThrough()
  let rest = ''
  output.on('data', (chunk: Buffer) => {
    const parts = (rest + chunk.toString()).split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts)
    if (parts.length > 0) heard.emit('line')
  })
  const dispatch = createDispatch({
    clock: systemClock,
    requestMs: 1000,
    observer: { started() {}, finished() {}, refused() {} },
    newTrace: createTraces((size) => new Uint8Array(size)),
  })
  const ended = serveStdio({
    input,
    output,
    served: servedBy(handler),
    version: 'a2m/0.1',
    caller: stdioCaller([]),
    dispatch,
    maxLineBytes: 1000,
    maxInFlight: 8,
  })
  return {
    input,
    lines,
    ended,
    say: (...messages: readonly (string | Buffer)[]) => {
      for (const text of messages)
        input.write(Buffer.concat([Buffer.from(text), Buffer.from('\n')]))
    },
    heard: async (count: number) => {
      while (lines.length < count) await once(heard, 'line')
      return lines.map((line) => JSON.parse(line))
    },
  }
}

test('one line in is one line out, ids to the letter, notifications silent', async () => {
  const server = start(({ params }) => ({ records: [], prompt: JSON.stringify(params) }))
  server.say(
    '{"jsonrpc":"2.0","id":1.0,"method":"memory/recall","params":{"query":"a\\nb"}}',
    message({ id: undefined }),
    message({ id: undefined, method: 'memory/no' }),
    message({ id: 'x', method: 'memory/no' }),
  )
  server.input.end()
  await server.ended
  expect(server.lines).toHaveLength(2)
  expect(server.lines[0]).toContain('"id":1.0,')
  expect(server.lines[0]).toContain('a\\\\nb')
  expect(JSON.parse(server.lines[1] ?? '')).toMatchObject({ id: 'x', error: { code: -32601 } })
})

test('the caller may act for every owner and has the roles it was given', async () => {
  const server = start(({ context }) => ({ records: [], prompt: JSON.stringify(context.caller) }))
  server.say(message())
  const [reply] = await server.heard(1)
  expect(JSON.parse(reply.result.prompt)).toEqual({
    name: 'stdio',
    roles: [],
    scope: { kind: 'all' },
  })
})

test('replies go out as they are ready', async () => {
  const slow = gate()
  const server = start(({ method }) =>
    method === 'memory/recall' ? slow.opened.then(() => NOTHING) : NOTHING,
  )
  server.say(message({ id: 1 }), message({ id: 2, method: 'memory/timeline' }))
  expect(await server.heard(1)).toMatchObject([{ id: 2 }])
  slow.open()
  expect(await server.heard(2)).toMatchObject([{ id: 2 }, { id: 1 }])
})

test.each([
  ['1', '1'],
  ['1', '1.0'],
  ['"a"', '"\\u0061"'],
  ['9007199254740993', '9007199254740993'],
])('with the id %s being worked on, %s is refused and can be used again after', async (a, b) => {
  const slow = gate()
  const server = start(() => slow.opened.then(() => NOTHING))
  const call = (id: string) => `{"jsonrpc":"2.0","id":${id},"method":"memory/recall"}`
  server.say(call(a), call(b))
  expect(await server.heard(1)).toMatchObject([{ error: { code: -32600 } }])
  expect(server.lines[0]).toContain(`"id":${b},`)
  slow.open()
  expect(await server.heard(2)).toMatchObject([{}, { result: NOTHING }])
  server.say(call(b))
  expect(await server.heard(3)).toMatchObject([{}, {}, { result: NOTHING }])
})

test.each([
  ['1', '"1"'],
  ['9007199254740993', '9007199254740992'],
])('%s and %s are two ids', async (a, b) => {
  const server = start(async () => NOTHING)
  for (const id of [a, b]) server.say(`{"jsonrpc":"2.0","id":${id},"method":"memory/recall"}`)
  expect(await server.heard(2)).toMatchObject([{ result: NOTHING }, { result: NOTHING }])
})

test.each([
  ['half a message', '{"jsonrpc":"2.0"', -32700],
  ['an empty batch', '[]', -32600],
  ['a batch', `[${message()}]`, -32600],
  ['Latin-1', Buffer.from(message({ params: { query: 'café' } }), 'latin1'), -32700],
  ['a line too long', 'x'.repeat(1001), -32600],
  ['a line of 3 MB', 'x'.repeat(3_000_000), -32600],
])('%s is answered with id null, and the stream survives', async (_, line, code) => {
  const server = start(() => NOTHING)
  server.say(line)
  expect(await server.heard(1)).toMatchObject([{ id: null, error: { code } }])
  server.say(message({ id: 7 }))
  expect(await server.heard(2)).toMatchObject([{}, { id: 7, result: NOTHING }])
})

test('blank lines and CRLF do no harm', async () => {
  const server = start(() => NOTHING)
  server.say('', '\r', '  ', `${message({ id: 3 })}\r`)
  expect(await server.heard(1)).toMatchObject([{ id: 3, result: NOTHING }])
})

test('wherever the stream is cut into chunks, the lines are the same', async () => {
  const text = [1, 2, 3].map((id) => `${message({ id, params: { query: `ключ ${id} 東京` } })}\n`)
  const bytes = Buffer.from(text.join(''))
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 6 }), async (cuts) => {
      const server = start(({ params }) => ({ records: [], prompt: JSON.stringify(params) }))
      const borders = [0, ...cuts.sort((a, b) => a - b), bytes.length]
      for (const [n, from] of borders.entries())
        server.input.write(bytes.subarray(from, borders[n + 1]))
      server.input.end()
      await server.ended
      const prompts = server.lines.map((line) => JSON.parse(line).result.prompt)
      expect(prompts).toEqual([1, 2, 3].map((id) => `{"query":"ключ ${id} 東京"}`))
    }),
    { numRuns: 50 },
  )
})

test('the end of input lets what is in flight finish, a last line without a break too', async () => {
  const slow = gate()
  const closed: string[] = []
  const server = start(({ context }) => {
    context.connection.closed.subscribe(() => closed.push('closed'))
    return slow.opened.then(() => NOTHING)
  })
  server.input.end(message({ id: 5 }))
  let ended = false
  void server.ended.then(() => {
    ended = true
  })
  await once(server.input, 'end')
  await new Promise((resolve) => setImmediate(resolve))
  expect({ ended, closed }).toEqual({ ended: false, closed: [] })
  slow.open()
  await server.ended
  expect(closed).toEqual(['closed'])
  expect(JSON.parse(server.lines[0] ?? '')).toMatchObject({ id: 5, result: NOTHING })
})

test('a failing memory is an error and no more', async () => {
  const server = start(({ method }) => {
    if (method === 'memory/recall') throw new TypeError('password hunter2')
    throw new A2mError('READ_ONLY', 'no writes')
  })
  server.say(message({ id: 1 }), message({ id: 2, method: 'memory/timeline' }))
  const replies = await server.heard(2)
  expect(replies.map(({ error }) => error.code)).toEqual([-32603, -32004])
  expect(server.lines.join()).not.toContain('hunter2')
})

test('notifications can be pushed until the connection ends', async () => {
  const connections: Connection[] = []
  const server = start(({ context }) => {
    connections.push(context.connection)
    return NOTHING
  })
  server.say(message())
  await server.heard(1)
  await connections[0]?.push?.({
    jsonrpc: '2.0',
    method: 'memory/event',
    params: { kind: 'written' },
  })
  expect(await server.heard(2)).toMatchObject([{}, { method: 'memory/event' }])
  expect(server.lines[1]).not.toContain('\n')
})

/** An output that takes nothing until it is told to. */
class Stuck extends Writable {
  readonly taken: Buffer[] = []
  #go: (() => void) | undefined

  constructor() {
    super({ highWaterMark: 10 })
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.taken.push(chunk)
    this.emit('data', chunk)
    this.#go = done
  }

  go(): void {
    this.#go?.()
  }
}

test('while the output takes nothing, no more is read', async () => {
  const output = new Stuck()
  let calls = 0
  const server = start(() => {
    calls++
    return NOTHING
  }, output)
  for (let id = 0; id < 100; id++) server.say(message({ id }))
  await server.heard(1)
  for (let n = 0; n < 50; n++) await new Promise((resolve) => setImmediate(resolve))
  expect(calls).toBeLessThan(20)
  const pump = setInterval(() => output.go(), 0)
  server.input.end()
  await server.ended
  clearInterval(pump)
  expect(calls).toBe(100)
  expect(output.taken).toHaveLength(100)
})

test('no more calls are taken on than are allowed at once', async () => {
  const slow = gate()
  let active = 0
  const server = start(async () => {
    active++
    await slow.opened
    return NOTHING
  })
  for (let id = 0; id < 30; id++) server.say(message({ id }))
  for (let n = 0; n < 50; n++) await new Promise((resolve) => setImmediate(resolve))
  expect(active).toBe(8)
  slow.open()
  expect(await server.heard(30)).toHaveLength(30)
})

test('an output that goes away cancels what is in flight and ends the service', async () => {
  const reached = gate()
  const cancelled = gate()
  const output = new PassThrough()
  const server = start(({ context }) => {
    reached.open()
    context.cancellation.subscribe(cancelled.open)
    return cancelled.opened.then(() => NOTHING)
  }, output)
  server.say(message())
  await reached.opened
  output.destroy(new Error('EPIPE'))
  await server.ended
  await cancelled.opened
})
