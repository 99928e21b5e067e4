import { describe, expect, test } from 'vitest'
import { withContract } from '../../../src/protocol/contract.js'
import { A2mError, Fault } from '../../../src/protocol/errors.js'
import { EXTENSION } from '../../../src/protocol/extension.js'
import { type Caller, GATEWAY_ROLE, type Memory } from '../../../src/protocol/memory.js'
import type { Capability } from '../../../src/protocol/methods.js'
import { serve } from '../../../src/protocol/serve.js'
import { contextWithin } from '../../support/contexts.js'
import { meets } from '../../support/meets.js'
import { createRecorder } from '../../support/recorder.js'

const context = contextWithin(1000)

function served(memory: Memory, ...capabilities: Capability[]) {
  const declared = new Set<Capability>(['core', ...capabilities])
  return withContract(memory, () => ({ capabilities: declared, readOnly: false, limits: {} }))
}

function message(method: string, params?: unknown, id: unknown = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params })
}

async function ask(
  text: string,
  memory = createRecorder().memory,
  caller: Caller = context.caller,
) {
  const { reply } = await serve(text, served(memory), { ...context, caller })
  return reply === undefined ? undefined : JSON.parse(reply)
}

describe('a request is answered once', () => {
  test('with its result', async () => {
    const { memory, seen } = createRecorder({ records: [] })
    expect(await ask(message('memory/recall', { query: 'q', other: 1 }), memory)).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: { records: [] },
    })
    expect(seen).toMatchObject([{ method: 'memory/recall', params: { query: 'q' } }])
  })

  test('with -32601 for what is no method of A2M', async () => {
    for (const name of [
      'memory/nothing',
      'constructor',
      '__proto__',
      '',
      'tools/call',
      'x'.repeat(9999),
    ]) {
      const { error } = await ask(message(name))
      expect(error.code).toBe(-32601)
      expect(error.message.length).toBeLessThan(200)
    }
  })

  test('with -32602 for params that are wrong', async () => {
    expect(await ask(message('memory/recall', { limit: -1 }))).toMatchObject({
      id: 1,
      error: { code: -32602 },
    })
    expect((await ask(message('memory/recall', [1]))).error.code).toBe(-32602)
  })

  test(`with -32603 and no detail when anything breaks ${meets('7/internal-error')}`, async () => {
    const broken: Memory = {
      call: async () => {
        throw new Error('secret')
      },
      close: async () => {},
    }
    const reply = await ask(message('memory/recall', {}), broken)
    expect(reply.error).toEqual({ code: -32603, message: 'internal error' })
    const told = await serve(message('memory/recall'), served(broken), context)
    expect(told.error?.code).toBe(-32603)
  })

  test('with what a memory threw before it had begun', async () => {
    const broken = served(createRecorder().memory)
    const refusing = {
      ...broken,
      refusal: () => {
        throw new Fault('busy', 'too many')
      },
    }
    const { reply } = await serve(message('memory/recall'), refusing, context)
    expect(JSON.parse(reply ?? '')).toMatchObject({ error: { data: { outcome: 'not_sent' } } })
  })
})

describe('a notification is never answered', () => {
  const failing: Memory = {
    call: async () => {
      throw new A2mError('READ_ONLY', 'no')
    },
    close: async () => {},
  }
  test.each([
    ['{"jsonrpc":"2.0","method":"memory/recall"}'],
    ['{"jsonrpc":"2.0","method":"memory/nothing"}'],
    ['{"jsonrpc":"2.0","method":"memory/promote"}'],
    ['{"jsonrpc":"2.0","method":"memory/recall","params":{"limit":-1}}'],
    ['{"jsonrpc":"2.0","method":"memory/recall","params":{"a":1,"a":2}}'],
    ['{"jsonrpc":"2.0","method":"memory/recall","params":"\\ud800"}'],
  ])('%s', async (text) => {
    expect(await ask(text)).toBeUndefined()
    expect(await ask(text, failing)).toBeUndefined()
  })

  test('but it reaches the memory', async () => {
    const { memory, seen } = createRecorder()
    await ask('{"jsonrpc":"2.0","method":"memory/recall","params":{"query":"q"}}', memory)
    expect(seen).toHaveLength(1)
  })
})

describe('what must be ignored cannot be malformed', () => {
  test.each([
    ['memory/recall', { prompt: 5, embedding: 'x', embeddings: 'yes', owner: {} }],
    ['memory/timeline', { prompt: [], owner: 5, [EXTENSION]: 'x' }],
    ['memory/describe', { owner: [] }],
    ['memory/forget', { ids: ['a'], session: 5, owner: null }],
    [
      'memory/remember',
      {
        session: 5,
        records: [
          {
            content: 'c',
            salience: 'high',
            owner: 5,
            session: {},
            key: [],
            embedding: [],
            uri: 1,
            media_type: 2,
          },
        ],
      },
    ],
  ])('%s %j', async (method, params) => {
    const { memory, seen } = createRecorder()
    expect(await ask(message(method, params), memory)).not.toHaveProperty('error')
    const { records, ids: _, ...rest } = seen[0]?.params ?? {}
    expect(rest).toEqual({})
    if (records !== undefined) expect(records).toEqual([{ content: 'c' }])
  })

  test('but a forget for one owner is not made one for all by it', async () => {
    const text = message('memory/forget', { ids: ['a'], owner: 'anna' })
    const { memory, seen } = createRecorder({ forgotten: 0 })
    expect((await ask(text, memory)).error.code).toBe(-32003)
    expect(seen).toEqual([])
    const ownerless = { ...context.caller, scope: { kind: 'ownerless' as const } }
    expect(await ask(text, memory, ownerless)).toHaveProperty('result')
    expect(seen.map(({ params }) => params)).toEqual([{ ids: ['a'] }])
  })

  test('the extension is taken from a gateway, and then it is held to its shape', async () => {
    const gateway = { ...context.caller, roles: [GATEWAY_ROLE] }
    const { memory, seen } = createRecorder()
    await ask(message('memory/recall', { [EXTENSION]: { owner: null } }), memory, gateway)
    await ask(message('memory/recall', { [EXTENSION]: { owner: null } }), memory)
    expect(seen.map(({ params }) => params[EXTENSION])).toEqual([{ owner: null }, undefined])
    const refused = await ask(message('memory/recall', { [EXTENSION]: 5 }), memory, gateway)
    expect(refused.error.code).toBe(-32602)
  })

  test('a field of a declared capability is held to its shape', async () => {
    const text = message('memory/remember', { records: [{ content: 'c', salience: 'high' }] })
    const { error } = await serve(text, served(createRecorder().memory, 'salience'), context)
    expect(error?.code).toBe(-32602)
  })
})
