import { describe, expect, test } from 'vitest'
import { type Contract, withContract } from '../../../src/protocol/contract.js'
import { A2mError } from '../../../src/protocol/errors.js'
import {
  CAPABILITIES,
  type Capability,
  METHOD_NAMES,
  type Method,
  SPECS,
} from '../../../src/protocol/methods.js'
import { serve } from '../../../src/protocol/serve.js'
import { contextWithin } from '../../support/contexts.js'
import { meets } from '../../support/meets.js'
import { createRecorder } from '../../support/recorder.js'

const context = contextWithin(1000)

function setUp(
  contract: Partial<Contract> & { readonly declared?: readonly Capability[] },
  result?: unknown,
) {
  const { declared = [], ...rest } = contract
  const recorder = createRecorder(result)
  const capabilities = new Set<Capability>(['core', ...declared])
  const served = withContract(recorder.memory, () => ({
    capabilities,
    readOnly: false,
    limits: {},
    ...rest,
  }))
  return { ...recorder, served }
}

/** Through `serve`, as a caller would: the code, or undefined where it was let through. */
async function codeOf(setting: ReturnType<typeof setUp>, method: string, params: unknown) {
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const { error } = await serve(text, setting.served, context)
  return error?.code
}

describe('capabilities', () => {
  const others = METHOD_NAMES.filter((method) => SPECS[method].capability !== 'core')

  test.each(others)(
    `%s of an undeclared one is -32003 whatever its params ${meets('2/undeclared', '2/undeclared-is-known')}`,
    async (method) => {
      const setting = setUp({ readOnly: true })
      for (const params of [undefined, {}, [], 5, { ids: 7 }]) {
        expect(await codeOf(setting, method, params)).toBe(-32003)
      }
      expect(setting.seen).toEqual([])
    },
  )

  test.each(others)('%s of a declared one is let through to its params', async (method) => {
    const setting = setUp({ declared: [SPECS[method].capability] })
    expect(await codeOf(setting, method, 5)).toBe(-32602)
  })

  test.each([
    ['memory/recall', { tier: 'a' }],
    ['memory/timeline', { tier: 'a' }],
    ['memory/forget', { tier: 'a' }],
    ['memory/forget', { ids: ['a'], tier: 'a' }],
    ['memory/remember', { records: [{ content: 'a' }, { content: 'b', tier: 'a' }] }],
  ])(
    `%s %j without tiers is -32003 ${meets('4.2/undeclared-tier', '7/capability')}`,
    async (method, params) => {
      const setting = setUp({ declared: CAPABILITIES.filter((name) => name !== 'tiers') })
      expect(await codeOf(setting, method, params)).toBe(-32003)
      expect(await codeOf(setUp({ declared: ['tiers'] }), method, params)).toBeUndefined()
      expect(setting.seen).toEqual([])
    },
  )

  test.each([
    ['memory/recall', { key_prefix: 'a' }],
    ['memory/timeline', { key_prefix: 'a' }],
    ['memory/forget', { key_prefix: 'a' }],
  ])('%s %j without keys is -32003', async (method, params) => {
    expect(await codeOf(setUp({}), method, params)).toBe(-32003)
    expect(await codeOf(setUp({ declared: ['keys'] }), method, params)).toBeUndefined()
  })

  const entry = {
    content: 'c',
    role: 'user',
    group: 'g',
    salience: 1,
    owner: 'o',
    session: 's',
    key: 'k',
    embedding: [1],
    uri: 'u',
    media_type: 'm',
  }
  const fields = {
    salience: ['salience'],
    scopes: ['owner'],
    sessions: ['session'],
    keys: ['key'],
    embeddings: ['embedding'],
    external: ['uri', 'media_type'],
  } as const

  test.each(Object.keys(fields) as (keyof typeof fields)[])(
    `fields of %s are dropped where it is not declared, others kept ${meets('4.2/undeclared-fields')}`,
    async (undeclared) => {
      const declared = CAPABILITIES.filter((name) => name !== undeclared)
      const setting = setUp({ declared })
      const params = { records: [entry], owner: 'o', session: 's' }
      await setting.served.call('memory/remember', params, context)
      const dropped: readonly string[] = fields[undeclared]
      const left = Object.fromEntries(
        Object.entries(entry).filter(([name]) => !dropped.includes(name)),
      )
      expect(setting.seen[0]?.params['records']).toEqual([left])
      expect('owner' in (setting.seen[0]?.params ?? {})).toBe(undeclared !== 'scopes')
      expect('session' in (setting.seen[0]?.params ?? {})).toBe(undeclared !== 'sessions')
    },
  )

  test(`what only adds to an answer is dropped ${meets('4.16/undeclared')}`, async () => {
    const setting = setUp({})
    const params = {
      query: 'q',
      owner: 'o',
      embedding: [1],
      embeddings: true,
      prompt: true,
      limit: 3,
    }
    await setting.served.call('memory/recall', params, context)
    await setting.served.call('memory/describe', { owner: 'o' }, context)
    expect(setting.seen.map((call) => call.params)).toEqual([{ query: 'q', limit: 3 }, {}])
    const promoting = setUp({ declared: ['tiers'] })
    await promoting.served.call('memory/promote', { ids: ['a'], tier: 't', salience: 1 }, context)
    expect(promoting.seen[0]?.params).toEqual({ ids: ['a'], tier: 't' })
  })

  test('describe tells what is promised to this caller, and the methods of that', async () => {
    const description = {
      protocol: 'a2m/0.1',
      name: 'x',
      capabilities: ['core', 'keys'],
      methods: ['y'],
    }
    const { served } = setUp({ declared: ['scopes', 'tiers'] }, description)
    expect(await served.call('memory/describe', {}, context)).toEqual({
      protocol: 'a2m/0.1',
      name: 'x',
      capabilities: ['core', 'tiers', 'scopes'],
      methods: [
        'memory/describe',
        'memory/remember',
        'memory/recall',
        'memory/timeline',
        'memory/forget',
        'memory/promote',
        'memory/consolidate',
      ],
    })
  })
})

describe('a memory that takes no writes', () => {
  const writes: readonly Method[] = METHOD_NAMES.filter((method) => SPECS[method].kind === 'write')

  test('knows its writes', () => {
    expect(writes).toEqual([
      'memory/remember',
      'memory/forget',
      'memory/promote',
      'memory/consolidate',
      'memory/reinforce',
      'memory/session/close',
      'memory/summarize',
    ])
  })

  test.each(writes)(
    `refuses %s before any other check ${meets('2.1/writes-refused', '2.1/all-or-none')}`,
    async (method) => {
      const setting = setUp({ readOnly: true, declared: CAPABILITIES })
      for (const params of [undefined, {}, [], { records: [] }, { ids: 5 }, { tier: 'nowhere' }]) {
        expect(await codeOf(setting, method, params)).toBe(-32004)
      }
      expect(setting.seen).toEqual([])
    },
  )

  test('answers everything else', async () => {
    for (const method of METHOD_NAMES.filter((name) => !writes.includes(name))) {
      const params = method === 'memory/fetch' ? { key: 'k' } : {}
      const setting = setUp({ readOnly: true, declared: CAPABILITIES })
      expect(await codeOf(setting, method, params)).toBeUndefined()
    }
  })
})

describe(`forget needs something to forget ${meets('4.5/selector')}`, () => {
  test.each([
    {},
    { ids: [] },
    { query: '' },
    { where: {} },
    { key_prefix: '' },
    { owner: 'o' },
    { ids: [], query: '', where: {}, key_prefix: '' },
    { ids: null, query: null, tier: null, where: null, key_prefix: null },
    { selector: 'all' },
  ])('%j is -32602', async (params) => {
    const setting = setUp({ declared: ['keys', 'tiers', 'scopes'] })
    expect(await codeOf(setting, 'memory/forget', params)).toBe(-32602)
    expect(setting.seen).toEqual([])
  })

  test.each([
    { ids: ['a'] },
    { query: 'q' },
    { where: { role: null } },
    { key_prefix: 'a' },
    { tier: 't' },
  ])('%j is enough', async (params) => {
    const setting = setUp({ declared: ['keys', 'tiers'] })
    expect(await codeOf(setting, 'memory/forget', params)).toBeUndefined()
  })
})

describe(`summarize needs something to summarize ${meets('4.15/selector')}`, () => {
  const setting = () => setUp({ declared: ['keys', 'tiers', 'scopes', 'summarize'] })

  test.each([
    {},
    { ids: [], query: ' ', tier: '', where: {}, key_prefix: '' },
    { owner: 'o', into: 't', key: 'k', limit: 5 },
    { query: 'q', limit: 10_001 },
    { ids: Array.from({ length: 10_001 }, (_, n) => `${n}`) },
  ])('%j is -32602', async (params) => {
    const { served, seen, ...rest } = setting()
    expect(await codeOf({ served, seen, ...rest }, 'memory/summarize', params)).toBe(-32602)
    expect(seen).toEqual([])
  })

  test.each([{ ids: ['a'] }, { query: 'q', limit: 10_000 }, { tier: 't', limit: 0 }])(
    '%j is enough',
    async (params) => {
      expect(await codeOf(setting(), 'memory/summarize', params)).toBeUndefined()
    },
  )

  test(`is read-only where the memory is, whatever the params ${meets('4.15/read-only')}`, async () => {
    const readOnly = setUp({ declared: ['summarize'], readOnly: true })
    expect(await codeOf(readOnly, 'memory/summarize', {})).toBe(-32004)
  })

  test('of or into a tier needs tiers, for one owner scopes', async () => {
    for (const params of [{ tier: 't' }, { query: 'q', into: 't' }, { query: 'q', owner: 'o' }]) {
      const bare = setUp({ declared: ['summarize'] })
      expect(await codeOf(bare, 'memory/summarize', params)).toBe(-32003)
    }
  })
})

test('a forget for one owner is never widened to everybody because owners are not declared', async () => {
  const setting = setUp({})
  expect(await codeOf(setting, 'memory/forget', { query: 'q', owner: 'o' })).toBe(-32003)
  expect(await codeOf(setting, 'memory/recall', { query: 'q', owner: 'o' })).toBeUndefined()
  expect(setting.seen).toHaveLength(1)
})

describe('where owners are kept apart and not declared', () => {
  const declared = CAPABILITIES.filter((capability) => capability !== 'scopes')
  const named: Readonly<Partial<Record<Method, object>>> = {
    'memory/remember': { records: [{ content: 'c', owner: 'o' }] },
    'memory/session/close': { session: 's', owner: 'o' },
    'memory/fetch': { key: 'k', owner: 'o' },
  }

  test.each(METHOD_NAMES.filter((method) => method !== 'memory/describe'))(
    '%s is not answered as if it named none',
    async (method) => {
      const setting = setUp({ declared, owners: 'withheld' })
      const params = named[method] ?? { query: 'q', owner: 'o' }
      expect(await codeOf(setting, method, params)).toBe(-32003)
      expect(setting.seen).toEqual([])
    },
  )

  test('who may act for several says which, whatever is declared', async () => {
    const scope = { kind: 'owners', owners: ['a', 'b'] } as const
    const several = { ...context, caller: { ...context.caller, scope } }
    const setting = setUp({ declared, owners: 'withheld' })
    for (const [method, params] of Object.entries({
      'memory/timeline': { owner: 'b' },
      'memory/remember': { records: [{ content: 'c', owner: 'b' }] },
    })) {
      await serve(
        JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
        setting.served,
        several,
      )
    }
    expect(setting.seen.map(({ params }) => params)).toMatchObject([
      { owner: 'b' },
      { records: [{ owner: 'b' }] },
    ])
  })
})

describe(`limits ${meets('4.1/limits')}`, () => {
  const limits = { max_records_per_call: 2, max_recall_limit: 3, max_content_length: 4 }
  const contents = (...texts: string[]) => ({ records: texts.map((content) => ({ content })) })

  test.each([
    ['memory/remember', contents('a', 'b'), undefined],
    ['memory/remember', contents('a', 'b', 'c'), 'max_records_per_call'],
    ['memory/remember', contents('😀😀😀😀'), undefined],
    ['memory/remember', contents('a', '😀😀😀😀x'), 'max_content_length'],
    ['memory/remember', contents('東京東京'), undefined],
    ['memory/remember', contents('e\u0301e\u0301'), undefined],
    ['memory/remember', contents('e\u0301e\u0301e'), 'max_content_length'],
    ['memory/recall', { limit: 3 }, undefined],
    ['memory/recall', { limit: 4 }, 'max_recall_limit'],
    ['memory/recall', { limit: 0 }, undefined],
    ['memory/timeline', { limit: 4 }, 'max_recall_limit'],
  ])('%s %j', async (method, params, limit) => {
    const setting = setUp({ limits })
    const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const { error } = await serve(text, setting.served, context)
    expect(error?.data?.['limit']).toBe(limit)
    expect(error?.code).toBe(limit === undefined ? undefined : -32602)
  })
})

describe(`versions ${meets('4.1/no-pretence')}`, () => {
  test.each(['a2m/0.2', 'a2m/1.0', '', 'x'])('%j is not spoken', async (protocol) => {
    const { served } = setUp({})
    const refused = served.call('memory/describe', { protocol }, context)
    await expect(refused).rejects.toMatchObject({ code: -32007, data: { supported: ['a2m/0.1'] } })
    await expect(refused).rejects.toBeInstanceOf(A2mError)
  })

  test.each([undefined, 'a2m/0.1'])('%j is', async (protocol) => {
    const { served, seen } = setUp({})
    await served.call('memory/describe', { protocol }, context)
    expect(seen).toHaveLength(1)
  })
})
