import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { A2mError } from '../../../src/protocol/errors.js'
import type { Memory } from '../../../src/protocol/memory.js'
import {
  CAPABILITIES,
  type Capability,
  METHOD_NAMES,
  SPECS,
} from '../../../src/protocol/methods.js'
import { serve } from '../../../src/protocol/serve.js'
import type { StoreOptions } from '../../../src/stores/options.js'
import {
  embeddedStore,
  openFederation,
  type TestFederation,
  temporaryFolder,
  tierConfig,
  type Upstreams,
} from '../../support/federation.js'
import { anyContext, ownerContext } from '../../support/federation-contexts.js'
import { meets } from '../../support/meets.js'
import { Faulty, PlainMemory } from '../../support/plain-memory.js'

let folder: ReturnType<typeof temporaryFolder>
let fixture: TestFederation | undefined
beforeEach(() => {
  folder = temporaryFolder()
})
afterEach(async () => {
  await fixture?.close()
  fixture = undefined
  folder.remove()
})

const alice = () => ownerContext('alice')

/** A built-in store, which declares everything that a store of records can. */
function full(name: string, options: Partial<StoreOptions> = {}): Memory {
  return embeddedStore({ path: join(folder.path, `${name}.db`), tiers: [name], ...options })
}

async function holding(memory: Memory, embedding: number[]): Promise<Memory> {
  await memory.call('memory/remember', { records: [{ content: 'x', embedding }] }, anyContext())
  return memory
}

/** A full store that can only be read, with one record of alice. */
async function fullReadOnly(name: string): Promise<Memory> {
  const before = full(name)
  await before.call(
    'memory/remember',
    { records: [{ content: 'kept' }], owner: 'alice' },
    anyContext(),
  )
  await before.close()
  return full(name, { access: 'read-only' })
}

/** A tier of its own on each. */
async function over(upstreams: Upstreams): Promise<TestFederation> {
  const tiers = Object.keys(upstreams).map((name) => tierConfig(name, name))
  fixture = await openFederation({ upstreams, tiers })
  return fixture
}

/** The error that a call of alice fails with, as it goes over a wire; undefined where it does not. */
async function errorOf(method: string, params: object) {
  if (fixture === undefined) throw new Error('no federation is open')
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  return (await serve(text, fixture.federation, alice())).error
}

async function codeOf(method: string, params: object): Promise<number | undefined> {
  return (await errorOf(method, params))?.code
}

/** Everything but what is named. */
function allBut(...names: readonly Capability[]): readonly Capability[] {
  return CAPABILITIES.filter((capability) => !names.includes(capability))
}

/** Describes itself so, answers every other method as undeclared, and says why of each capability that is missing. */
async function expectDeclared(
  { federation }: TestFederation,
  declared: readonly Capability[],
  because: RegExp,
): Promise<void> {
  const told = await federation.call('memory/describe', {}, alice())
  expect(told.capabilities).toEqual(declared)
  const has = (capability: Capability) => declared.includes(capability)
  const methods = METHOD_NAMES.filter((method) => has(SPECS[method].capability))
  expect(told.methods.toSorted()).toEqual([...methods].sort())
  for (const method of METHOD_NAMES) {
    const code = await codeOf(method, {})
    const subscribing = method === 'memory/events/subscribe'
    if (has(SPECS[method].capability) && !subscribing) expect([undefined, -32602]).toContain(code)
    else expect([method, code]).toEqual([method, -32003])
  }
  expect('embeddings' in told).toBe(has('embeddings'))
  const { withheld } = federation.report().promised
  expect([...withheld.keys()]).toEqual(CAPABILITIES.filter((capability) => !has(capability)))
  for (const reasons of withheld.values()) expect(reasons.join()).toMatch(because)
}

const NEVER = /^$/

describe(`what is declared ${meets('2/truthful', '2/undeclared')}`, () => {
  test('over full and full: everything', async () => {
    const opened = await over({ a: { memory: full('a') }, b: { memory: full('b') } })
    await expectDeclared(opened, CAPABILITIES, NEVER)
  })

  test('over full and core alone that is written to: what the gateway provides itself', async () => {
    const opened = await over({ a: { memory: full('a') }, b: { memory: new PlainMemory() } })
    const own = ['core', 'tiers', 'events', 'summarize', 'prompt'] as const
    await expectDeclared(opened, own, /^b: does not declare/)
  })

  test('over full and core alone that is only read: everything, and it works', async () => {
    const archive = new PlainMemory({ readOnly: true })
    archive.records.push({ id: '1', content: 'old heron', created_at: '2020-01-01T00:00:00.000Z' })
    const opened = await over({
      a: { memory: full('a') },
      b: { memory: archive, config: { owner: 'none' } },
    })
    await expectDeclared(opened, CAPABILITIES, NEVER)
    const { call } = opened.federation
    const entry = { content: 'new heron', key: 'k/1', session: 's', embedding: [1, 0], uri: 'a:b' }
    await call('memory/remember', { records: [entry] }, alice())
    for (const params of [
      { key_prefix: 'k' },
      { where: { session: 's' } },
      { embedding: [1, 0], limit: 1 },
      { where: { uri: 'a:b' } },
    ]) {
      const { records, federation } = await call('memory/recall', params, alice())
      expect(records).toMatchObject([{ content: 'new heron', key: 'k/1' }])
      expect(federation?.partial).toBe(false)
    }
    const { records } = await call('memory/recall', { query: 'heron' }, alice())
    expect(records.map(({ content }) => content).toSorted()).toEqual(['new heron', 'old heron'])
  })

  test('over two metrics: all but embeddings', async () => {
    const opened = await over({
      a: { memory: full('a', { metric: 'cosine' }) },
      b: { memory: full('b', { metric: 'dot' }) },
    })
    await expectDeclared(opened, allBut('embeddings'), /^a: cosine, b: dot$/)
    const records = [{ content: 'x', embedding: [1, 2] }]
    expect(await codeOf('memory/remember', { records })).toBeUndefined()
    const found = await opened.federation.call('memory/timeline', { embeddings: true }, alice())
    expect(found.records).toMatchObject([{ content: 'x' }])
    expect(found.records[0]).not.toHaveProperty('embedding')
  })

  test('over two widths: all but embeddings', async () => {
    const opened = await over({
      a: { memory: await holding(full('a'), [1, 2]) },
      b: { memory: await holding(full('b'), [1, 2, 3]) },
    })
    await expectDeclared(opened, allBut('embeddings'), /^a: 2 numbers, b: 3 numbers$/)
  })

  test('over one width and none yet: everything, and that width', async () => {
    const opened = await over({
      a: { memory: await holding(full('a'), [1, 2]) },
      b: { memory: full('b') },
    })
    const { embeddings } = await opened.federation.call('memory/describe', {}, alice())
    expect(embeddings).toMatchObject({ dimensions: 2, metric: 'cosine' })
    const records = [{ content: 'x', embedding: [1, 2, 3], tier: 'b' }]
    expect(await codeOf('memory/remember', { records })).toBe(-32008)
  })
})

const FACTS = [
  'The deploy key rotates every ninety days.',
  'The vault of the platform team holds the deploy key.',
  'Berlin hosts the summer meeting of the platform team.',
]
const REASON = /: nothing can be (written|moved) to "b": its upstream b is read-only$/

/** A call of every method that writes, with params that a full and writable memory would take. */
const WRITES: readonly (readonly [method: string, params: object])[] = [
  ['memory/remember', { records: [{ content: 'x' }] }],
  ['memory/forget', { query: 'kept' }],
  ['memory/promote', { ids: ['x'], tier: 'a' }],
  ['memory/consolidate', {}],
  ['memory/reinforce', { ids: ['x'] }],
  ['memory/session/close', { session: 's' }],
  ['memory/summarize', { query: 'kept' }],
]

test('every method that writes is among them', () => {
  const writing = METHOD_NAMES.filter((method) => SPECS[method].kind === 'write')
  expect(WRITES.map(([method]) => method).toSorted()).toEqual([...writing].sort())
})

test(`where all are read-only every write is -32004, and all are read ${meets('2.1/writes-refused', '2.1/all-or-none', '2.1/reads-answered', '4.15/read-only')}`, async () => {
  const { federation } = await over({
    a: { memory: await fullReadOnly('a') },
    b: { memory: await fullReadOnly('b') },
  })
  for (const [method, params] of WRITES) {
    for (const any of [params, {}, { records: 5, ids: 5, tier: 'nowhere' }]) {
      expect([method, await codeOf(method, any)]).toEqual([method, -32004])
    }
  }
  const { capabilities } = await federation.call('memory/describe', {}, alice())
  expect(capabilities).toEqual(CAPABILITIES)
  const { records } = await federation.call('memory/timeline', {}, alice())
  expect(records.map(({ content, tier }) => [content, tier]).toSorted()).toEqual([
    ['kept', 'a'],
    ['kept', 'b'],
  ])
})

test(`where one tier is read-only no write is ever -32004; into it, it is -32602 with a reason ${meets('2.1/all-or-none')}`, async () => {
  const { federation } = await over({
    a: { memory: full('a') },
    b: { memory: await fullReadOnly('b') },
  })
  for (const [method, params] of WRITES) {
    expect([method, await codeOf(method, params)]).toEqual([method, undefined])
  }
  const records = FACTS.map((content) => ({ content }))
  const { ids } = await federation.call('memory/remember', { records }, alice())
  for (const [method, params] of [
    ['memory/remember', { records: [{ content: 'fine' }, { content: 'x', tier: 'b' }] }],
    ['memory/promote', { ids, tier: 'b' }],
    ['memory/summarize', { ids, into: 'b' }],
  ] as const) {
    const { code, message } = (await errorOf(method, params)) ?? {}
    expect([method, code, message]).toEqual([method, -32602, expect.stringMatching(REASON)])
  }
  const left = await federation.call('memory/timeline', { limit: 0 }, alice())
  expect(left.records.map(({ content }) => content)).not.toContain('fine')
})

test.each([
  ['CAPABILITY_NOT_SUPPORTED', -32003],
  ['READ_ONLY', -32004],
  ['SCOPE_DENIED', -32005],
  ['QUOTA_EXCEEDED', -32006],
] as const)(
  `%s of an upstream is not the caller’s ${meets('7/quota', '2.1/all-or-none')}`,
  async (name, code) => {
    const faulty = new Faulty(full('b'))
    const { federation } = await over({ a: { memory: full('a') }, b: { memory: faulty } })
    await federation.call('memory/describe', {}, alice())
    faulty.fault = (method) => (method === 'memory/remember' ? new A2mError(name, 'no') : undefined)
    const records = [
      { content: 'one', tier: 'a' },
      { content: 'two', tier: 'b' },
    ]
    const refused = federation.call('memory/remember', { records }, alice())
    await expect(refused).rejects.toMatchObject({ code: -32603, data: { upstream: 'b', code } })
    expect((await federation.call('memory/timeline', {}, alice())).records).toEqual([])
  },
)
