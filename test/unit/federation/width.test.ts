import { afterEach, describe, expect, test, vi } from 'vitest'
import { Width } from '../../../src/federation/width.js'
import { A2mError, Fault } from '../../../src/protocol/errors.js'
import type { ParamsOf } from '../../../src/protocol/methods.js'
import { serve } from '../../../src/protocol/serve.js'
import { openState, type State } from '../../../src/state/state.js'
import {
  openFederation,
  type TestFederation,
  temporaryFolder,
  tierConfig,
} from '../../support/federation.js'
import { anyContext } from '../../support/federation-contexts.js'
import { VectorMemory, type VectorOptions } from '../../support/vector-memory.js'

let fixture: TestFederation | undefined
afterEach(async () => {
  await fixture?.close()
  fixture = undefined
})

const memoryState = (): State => openState({ path: ':memory:', durability: 'normal' })

describe('the width', () => {
  test('is free again when nothing came of it, and kept once something did', () => {
    const state = memoryState()
    const width = new Width(state.width)
    width.hold(3)
    expect([width.kept, state.width.read()]).toEqual([3, 3])
    width.hold(3)
    width.release()
    expect(width.kept).toBe(3)
    width.release()
    expect([width.kept, state.width.read()]).toEqual([undefined, undefined])
    width.hold(4)
    width.accept()
    width.release()
    expect([width.kept, new Width(state.width).kept]).toEqual([4, 4])
    state.close()
  })

  test('that nobody holds is not accepted', () => {
    const state = memoryState()
    const width = new Width(state.width)
    width.accept()
    width.hold(2)
    width.release()
    expect(width.kept).toBeUndefined()
    state.close()
  })

  test('a disk that takes nothing refuses the write, and one that gives nothing back keeps it', () => {
    const full = (): never => {
      throw new Error('disk full')
    }
    const store = { read: () => undefined, write: full, clear: () => {} }
    expect(() => new Width(store).hold(3)).toThrow(expect.objectContaining({ code: -32603 }))
    const width = new Width({ ...store, write: () => {}, clear: full })
    width.hold(3)
    width.release()
    expect(width.kept).toBe(3)
  })
})

interface Opening {
  readonly a?: VectorOptions
  readonly b?: VectorOptions
  readonly state?: State
}

/** Two stores, a tier at each. */
async function open({ a = {}, b = {}, state = memoryState() }: Opening = {}) {
  const stores = { a: new VectorMemory(a), b: new VectorMemory(b) }
  const upstreams = { a: { memory: stores.a }, b: { memory: stores.b } }
  const tiers = [tierConfig('a', 'a'), tierConfig('b', 'b')]
  fixture = await openFederation({ upstreams, tiers, state })
  return stores
}

async function write(...records: ParamsOf<'memory/remember'>['records']): Promise<unknown> {
  return fixture?.federation
    .call('memory/remember', { records }, anyContext())
    .then(() => 'written', failure)
}

async function recall(embedding: number[], query?: string): Promise<unknown> {
  return fixture?.federation
    .call('memory/recall', { embedding, query }, anyContext())
    .then(() => 'answered', failure)
}

function failure(thrown: unknown): unknown {
  return thrown instanceof A2mError ? thrown.code : thrown
}

async function dimensions(): Promise<unknown> {
  const described = await fixture?.federation.call('memory/describe', {}, anyContext())
  return described?.embeddings?.dimensions
}

const of = (width: number) => Array.from({ length: width }, (_, at) => at + 1)

test('the first vector fixes the width for every store, for writes and for questions', async () => {
  const { b } = await open()
  expect(await dimensions()).toBeNull()
  expect(await write({ tier: 'a', content: 'x', embedding: of(3) })).toBe('written')
  expect(await dimensions()).toBe(3)
  expect(fixture?.federation.publicProfile().embeddings).toMatchObject({ dimensions: 3 })
  expect(await write({ tier: 'b', content: 'y', embedding: of(4) })).toBe(-32008)
  expect(await recall(of(4))).toBe(-32008)
  expect(await recall(of(2), 'x')).toBe(-32008)
  expect(b.plain.records).toEqual([])
  expect(await write({ tier: 'b', content: 'y', embedding: of(3) })).toBe('written')
})

test('a width that a store has fixed counts as well, before any write', async () => {
  const { a } = await open({ b: { embeddings: { dimensions: 5 } } })
  expect(await dimensions()).toBe(5)
  expect(await write({ tier: 'a', content: 'x', embedding: of(3) })).toBe(-32008)
  expect(await recall(of(3))).toBe(-32008)
  expect(a.plain.records).toEqual([])
})

test('the whole batch is looked at before anything of it is written', async () => {
  const { a, b } = await open()
  const batch = [
    { tier: 'a', content: 'plain' },
    { tier: 'a', content: 'x', embedding: of(2) },
    { tier: 'b', content: 'y', embedding: of(3) },
  ]
  const reply = fixture?.federation.call('memory/remember', { records: batch }, anyContext())
  await expect(reply).rejects.toMatchObject({
    code: -32008,
    data: { dimensions: 2, given: 3, index: 2 },
  })
  expect([...a.plain.records, ...b.plain.records]).toEqual([])
  expect(await dimensions()).toBeNull()
})

test('of two widths that race to two stores one is written and one refused', async () => {
  for (let round = 0; round < 20; round++) {
    const stores = await open()
    const ends = await Promise.all([
      write({ tier: 'a', content: 'x', embedding: of(2) }),
      write({ tier: 'b', content: 'y', embedding: of(3) }),
      write({ tier: 'b', content: 'z', embedding: of(2) }),
      write({ tier: 'a', content: 'w', embedding: of(3) }),
    ])
    expect(ends.toSorted()).toEqual([-32008, -32008, 'written', 'written'])
    const written = [...stores.a.plain.records, ...stores.b.plain.records]
    expect(new Set(written.map(({ embedding }) => embedding?.length)).size).toBe(1)
    await fixture?.close()
    fixture = undefined
  }
})

test('while the first is on its way, others of its width go along and of another are refused', async () => {
  let pass = () => {}
  const gate = new Promise<void>((resolve) => {
    pass = resolve
  })
  await open({ a: { onWrite: () => gate } })
  const first = write({ tier: 'a', content: 'x', embedding: of(2) })
  expect(await write({ tier: 'b', content: 'y', embedding: of(3) })).toBe(-32008)
  expect(await write({ tier: 'b', content: 'y', embedding: of(2) })).toBe('written')
  pass()
  expect(await first).toBe('written')
})

test.each<[string, () => Promise<void>, number | null]>([
  ['refused', () => Promise.reject(new A2mError('QUOTA_EXCEEDED', 'full')), null],
  ['never sent', () => Promise.reject(new Fault('unreachable', 'down', 'not_sent')), null],
  ['of unknown end', () => Promise.reject(new Fault('bad_reply', 'noise', 'unknown')), 2],
])('a first vector that was %s leaves the width as it should', async (_, onWrite, width) => {
  const once = vi.fn(onWrite)
  const { a } = await open({ a: { onWrite: once } })
  expect(await write({ tier: 'a', content: 'x', embedding: of(2) })).toBe(-32603)
  expect(once).toHaveBeenCalled()
  expect(a.plain.records).toEqual([])
  expect(await dimensions()).toBe(width)
})

test('what is refused before anything is sent fixes nothing', async () => {
  await open()
  expect(await write({ tier: 'nowhere', content: 'x', embedding: of(2) })).toBe(-32002)
  expect(await dimensions()).toBeNull()
  expect(await recall(of(7))).toBe('answered')
  expect(await dimensions()).toBeNull()
})

test('a store of another width than it said refuses for its own part', async () => {
  const { a } = await open()
  a.dimensions = 9
  expect(await write({ tier: 'a', content: 'x', embedding: of(2) })).toBe(-32008)
  expect(await dimensions()).toBeNull()
  expect(await write({ tier: 'a', content: 'x', embedding: of(9) })).toBe('written')
})

test('the width outlives the gateway, its records, and stores that came after', async () => {
  const folder = temporaryFolder()
  const state = () => openState({ path: `${folder.path}/gateway.db`, durability: 'normal' })
  await open({ state: state() })
  expect(await write({ tier: 'a', content: 'x', embedding: of(2) })).toBe('written')
  await fixture?.federation.call('memory/forget', { query: 'x' }, anyContext())
  await fixture?.close()
  await open({ state: state() })
  expect(await dimensions()).toBe(2)
  expect(await write({ tier: 'b', content: 'x', embedding: of(3) })).toBe(-32008)
  await fixture?.close()
  await open({ state: state(), b: { embeddings: { dimensions: 3 } } })
  expect(fixture?.federation.report().promised.withheld.get('embeddings')).toEqual([
    'b: 3 numbers, accepted before: 2 numbers',
  ])
  await fixture?.close()
  fixture = undefined
  folder.remove()
})

describe('bad input', () => {
  test.each<[string, string, number]>([
    ['empty', '[]', -32602],
    ['a string in it', '[1,"2"]', -32602],
    ['null in it', '[1,null]', -32602],
    ['a list in it', '[1,[2]]', -32602],
    ['true in it', '[1,true]', -32602],
    ['a number beyond every double', '[1,1e400]', -32602],
    ['no list', '1', -32602],
    ['an object', '{"0":1,"1":2}', -32602],
    ['text', '"1,2"', -32602],
    ['of another width', '[1]', -32008],
    ['wider', '[1,2,3]', -32008],
    ['as wide as may be', JSON.stringify(of(16_384)), -32008],
    ['wider than may be', JSON.stringify(of(16_385)), -32602],
  ])('a vector that is %s', async (_, vector, code) => {
    const { a } = await open({ a: { embeddings: { dimensions: 2 } } })
    const write = `{"records":[{"content":"fine"},{"content":"x","embedding":${vector}}]}`
    expect(await answer('memory/remember', write)).toMatchObject({ error: { code } })
    const recall = `{"query":"x","embedding":${vector}}`
    expect(await answer('memory/recall', recall)).toMatchObject({ error: { code } })
    expect(a.plain.records).toEqual([])
    expect(a.recalls).toEqual([])
  })

  test('null is absent, and where vectors are not declared nothing is wrong with any', async () => {
    await open()
    const without = '{"records":[{"content":"x","embedding":null}]}'
    expect(await answer('memory/remember', without)).toHaveProperty('result')
    expect(await answer('memory/recall', '{"embedding":null}')).toHaveProperty('result')
    await fixture?.close()
    await open({ b: { embeddings: { metric: 'dot' } } })
    const bad = '{"records":[{"content":"x","embedding":["no"]}]}'
    expect(await answer('memory/remember', bad)).toHaveProperty('result')
    expect(await answer('memory/recall', '{"embedding":[]}')).toHaveProperty('result')
  })

  async function answer(method: string, params: string): Promise<unknown> {
    if (fixture === undefined) return undefined
    const text = `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`
    const { reply } = await serve(text, fixture.federation, anyContext())
    return reply === undefined ? undefined : JSON.parse(reply)
  }
})
