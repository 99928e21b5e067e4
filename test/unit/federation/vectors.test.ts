import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import type { UpstreamConfig } from '../../../src/config/config.js'
import { EXTENSION } from '../../../src/protocol/extension.js'
import type { Context, Memory } from '../../../src/protocol/memory.js'
import type { ParamsOf, RecalledRecord } from '../../../src/protocol/methods.js'
import type { MemoryRecord } from '../../../src/protocol/records.js'
import { METRICS } from '../../../src/stores/metric.js'
import {
  embeddedStore,
  openFederation,
  type TestFederation,
  tierConfig,
} from '../../support/federation.js'
import { anyContext, gatewayContext } from '../../support/federation-contexts.js'
import { PlainMemory } from '../../support/plain-memory.js'
import { nearest, VectorMemory } from '../../support/vector-memory.js'

let fixture: TestFederation | undefined
afterEach(async () => {
  await fixture?.close()
  fixture = undefined
})

type Given = Readonly<Record<string, { memory: Memory; config?: Partial<UpstreamConfig> }>>
const READ_ONLY = { access: 'read-only', ids: 'own' } as const

/** One tier at each upstream, of its name. */
async function open(upstreams: Given, recall = {}): Promise<TestFederation> {
  const tiers = Object.keys(upstreams).map((name) => tierConfig(name, name))
  fixture = await openFederation({ upstreams, tiers, recall })
  return fixture
}

async function recalled(params: ParamsOf<'memory/recall'>): Promise<RecalledRecord[]> {
  const reply = await fixture?.federation.call('memory/recall', params, anyContext())
  return reply?.records ?? []
}

const contents = (records: readonly MemoryRecord[]) => records.map(({ content }) => content)

async function write(...records: ParamsOf<'memory/remember'>['records']): Promise<void> {
  await fixture?.federation.call('memory/remember', { records }, anyContext())
}

async function vectorsOf(): Promise<unknown> {
  return (await fixture?.federation.call('memory/describe', {}, anyContext()))?.embeddings
}

const store = (tier: string, metric: (typeof METRICS)[number] = 'cosine'): Memory =>
  embeddedStore({ path: ':memory:', name: tier, tiers: [{ name: tier }], metric })

describe('records that are spread over stores', () => {
  const TIERS = ['a', 'b', 'c', 'd'] as const
  const number = fc.integer({ min: -99, max: 99 })
  const vector = fc.array(number, { minLength: 4, maxLength: 4 })

  test.each(METRICS)(
    'are in the order of one comparison of all, by %s',
    async (metric) => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.record({ embedding: vector, tier: fc.constantFrom(...TIERS) }), {
            minLength: 1,
            maxLength: 40,
          }),
          vector,
          fc.integer({ min: 1, max: 45 }),
          async (given, query, limit) => {
            const one = await open(
              Object.fromEntries(TIERS.map((tier) => [tier, { memory: store(tier, metric) }])),
            )
            const entries = given.map((entry, at) => ({ ...entry, id: `${at}`, content: `${at}` }))
            await write(...entries)
            const found = await recalled({ embedding: query, limit, embeddings: true })
            const plain = entries.map((entry) => ({ ...entry, created_at: '' }))
            const wanted = nearest(plain, query, metric).slice(0, limit)
            expect(similarities(found, query, metric)).toEqual(similarities(wanted, query, metric))
            expect(new Set(found.map(({ id }) => id)).size).toBe(wanted.length)
            await one.close()
            fixture = undefined
          },
        ),
        { numRuns: 8, endOnFailure: true },
      )
    },
    60_000,
  )

  /** What the order goes by; equally similar records may stand in any order. */
  function similarities(
    records: readonly MemoryRecord[],
    query: readonly number[],
    metric: (typeof METRICS)[number],
  ): number[] {
    return records.map(({ embedding = [] }) => {
      const sum = (of: (at: number) => number) => query.reduce((total, _, at) => total + of(at), 0)
      const dot = (left: readonly number[], right: readonly number[]) =>
        sum((at) => (left[at] ?? 0) * (right[at] ?? 0))
      if (metric === 'dot') return rounded(dot(query, embedding))
      if (metric === 'l2')
        return rounded(sum((at) => ((query[at] ?? 0) - (embedding[at] ?? 0)) ** 2))
      return rounded(
        dot(query, embedding) / Math.sqrt(dot(query, query) * dot(embedding, embedding)),
      )
    })
  }

  const rounded = (value: number) => (Number.isNaN(value) ? 'none' : value.toFixed(6)) as never

  test('a smaller limit gives the first of a larger one, and equal calls are answered alike', async () => {
    await open(Object.fromEntries(TIERS.map((tier) => [tier, { memory: store(tier) }])))
    const entry = (at: number) => ({
      tier: TIERS[(at * at) % 4] ?? 'a',
      content: `thing ${at}`,
      embedding: [Math.sin(at), Math.cos(at * 3), 1],
    })
    await write(...Array.from({ length: 60 }, (_, at) => entry(at)))
    for (const query of [undefined, 'thing 7']) {
      const ask = (limit: number) => recalled({ query, embedding: [1, 0.5, 0.2], limit })
      const twenty = contents(await ask(20))
      expect(contents(await ask(5))).toEqual(twenty.slice(0, 5))
      expect(contents(await ask(20))).toEqual(twenty)
    }
  })
})

test('vectors come back to the bit through any number of stores, and only when they are asked for', async () => {
  await open({ a: { memory: store('a') }, b: { memory: store('b') } })
  const { federation } = fixture ?? (await open({}))
  const odd = [-0, 5e-324, 1.7976931348623157e308, 0.1 + 0.2, -1 / 3]
  await write(
    { tier: 'a', key: 'k', content: 'one', embedding: odd },
    { tier: 'b', content: 'two', embedding: odd.toReversed() },
  )
  const call = { embeddings: true }
  const timeline = await federation.call('memory/timeline', call, anyContext())
  const listed = timeline.records.toSorted((a, b) => a.content.localeCompare(b.content))
  expect(listed.map(({ embedding }) => embedding?.map(bits))).toEqual([
    odd.map(bits),
    odd.toReversed().map(bits),
  ])
  const [first] = await recalled({ embedding: odd, ...call })
  expect(first?.embedding?.map(bits)).toEqual(odd.map(bits))
  expect((await recalled({ query: 'one', ...call }))[0]?.embedding).toBeDefined()
  expect((await recalled({ ...call }))[0]?.embedding).toBeDefined()
  for (const params of [
    { embedding: odd },
    { query: 'one' },
    { query: 'one', embedding: odd },
    {},
  ]) {
    const found = await recalled(params)
    expect(found.length).toBeGreaterThan(0)
    for (const record of found) expect(record).not.toHaveProperty('embedding')
  }
  const plain = await federation.call('memory/timeline', {}, anyContext())
  for (const record of plain.records) expect(record).not.toHaveProperty('embedding')
})

const bits = (value: number) => Buffer.from(Float64Array.of(value).buffer).toString('hex')

test('with words and a vector both voters vote, and each is told by its name', async () => {
  await open({ a: { memory: store('a') }, b: { memory: store('b') } })
  await write(
    { tier: 'a', content: 'apple pie', embedding: [0, 1] },
    { tier: 'b', content: 'plum cake', embedding: [1, 0.1] },
    { tier: 'b', content: 'apple cake', embedding: [1, 0] },
  )
  const found = await recalled({ query: 'apple', embedding: [1, 0], explain: true })
  expect(found[0]).toMatchObject({ content: 'apple cake' })
  const votes = Object.fromEntries(
    found.map(({ content, explain }) => [content, explain?.map(({ list, rank }) => [list, rank])]),
  )
  expect(votes).toMatchObject({
    'apple cake': [
      ['b', 1],
      ['lexical', 2],
      ['vector', 1],
    ],
    'plum cake': [
      ['b', 2],
      ['vector', 2],
    ],
  })
})

test('by a vector alone the comparison decides, and lists only say what there is', async () => {
  await open({ a: { memory: store('a') }, b: { memory: store('b') } })
  await write(
    { tier: 'a', content: 'far', embedding: [0, 1] },
    ...[0.1, 0.2, 0.3, 0.4].map((y) => ({ tier: 'b', content: `${y}`, embedding: [1, y] })),
  )
  const found = await recalled({ embedding: [1, 0], explain: true })
  expect(contents(found)).toEqual(['0.1', '0.2', '0.3', '0.4', 'far'])
  for (const [at, { score }] of found.entries()) expect(score).toBeCloseTo(61 / (61 + at), 12)
  expect(found.at(-1)?.explain).toEqual([
    { list: 'a', rank: 1, weight: 0, share: 0 },
    { list: 'vector', rank: 5, weight: 1, share: expect.closeTo(61 / 65, 12) },
  ])
  const near = await recalled({ embedding: [1, 0], min_score: 0.98 })
  expect(contents(near)).toEqual(['0.1', '0.2'])
})

test('without weight lists are dealt out in turn, and nobody is asked for vectors', async () => {
  const [a, b] = [new VectorMemory(), new VectorMemory()]
  await open({ a: { memory: a }, b: { memory: b } }, { voters: { lexical: 1, vector: 0 } })
  await write(
    { tier: 'a', content: 'far', embedding: [0, 1] },
    { tier: 'b', content: 'near', embedding: [1, 0] },
  )
  expect(contents(await recalled({ embedding: [1, 0] }))).toEqual(['far', 'near'])
  expect(a.recalls.at(-1)).not.toHaveProperty('embeddings')
})

test('the order of a single upstream stands, and it is asked for no vectors', async () => {
  const memory = new VectorMemory()
  await open({ a: { memory } })
  await write({ content: 'far', embedding: [0, 1] }, { content: 'near', embedding: [1, 0] })
  expect(contents(await recalled({ embedding: [1, 0], limit: 2 }))).toEqual(['near', 'far'])
  expect(memory.recalls).toEqual([{ embedding: [1, 0], limit: 2 }])
})

describe('stores that do not agree', () => {
  test('two metrics: nothing is declared, vectors are left off as what is not known', async () => {
    const [a, b] = [new VectorMemory(), new VectorMemory({ embeddings: { metric: 'dot' } })]
    const { federation } = await open({ a: { memory: a }, b: { memory: b } })
    expect(await vectorsOf()).toBeUndefined()
    const { withheld } = federation.report().promised
    expect(withheld.get('embeddings')).toEqual(['a: cosine, b: dot'])
    await write({ content: 'x', embedding: [1, 2] }, { tier: 'b', content: 'y', embedding: [1] })
    expect([...a.plain.records, ...b.plain.records].map((record) => record.embedding)).toEqual([
      undefined,
      undefined,
    ])
    await recalled({ query: 'x', embedding: [1, 2, 3], embeddings: true })
    expect(a.recalls.at(-1)).not.toHaveProperty('embedding')
    expect(a.recalls.at(-1)).not.toHaveProperty('embeddings')
  })

  test('two widths: nothing is declared either', async () => {
    const wide = (dimensions: number) => new VectorMemory({ embeddings: { dimensions } })
    const { federation } = await open({ a: { memory: wide(2) }, b: { memory: wide(3) } })
    expect(await vectorsOf()).toBeUndefined()
    const { withheld } = federation.report().promised
    expect(withheld.get('embeddings')).toEqual(['a: 2 numbers, b: 3 numbers'])
  })

  const archived = { id: 'old', content: 'old apple', created_at: '2026-01-01T00:00:00.000Z' }

  test.each([
    [{ metric: 'dot' }, 'it compares vectors by dot and not by cosine'],
    [{ dimensions: 3 }, 'its vectors have 3 numbers and not 2'],
    [{ model: 'other' }, 'its vectors are of model other and not ours'],
  ])('a read-only one with %o is never asked by vector', async (embeddings, reason) => {
    const ours = new VectorMemory({ embeddings: { model: 'ours' } })
    const archive = new VectorMemory({ embeddings, readOnly: true })
    archive.plain.records.push({ ...archived, embedding: [1, 0] })
    await open({ ours: { memory: ours }, archive: { memory: archive, config: READ_ONLY } })
    expect(await vectorsOf()).toMatchObject({ metric: 'cosine', model: 'ours' })
    await write({ content: 'new apple', embedding: [0, 1] })
    const reply = await fixture?.federation.call(
      'memory/recall',
      { embedding: [1, 0] },
      anyContext(),
    )
    expect(reply).toMatchObject({
      records: [{ content: 'new apple' }],
      federation: { partial: false, upstreams: { archive: { state: 'skipped', reason } } },
    })
    const both = await recalled({ query: 'apple', embedding: [1, 0], explain: true })
    expect(new Set(contents(both))).toEqual(new Set(['new apple', 'old apple']))
    expect(archive.recalls).toEqual([{ query: 'apple', limit: 20 }])
    const old = both.find(({ content }) => content === 'old apple')
    expect(old?.explain?.map(({ list }) => list)).not.toContain('vector')
    const asked = await recalled({
      query: 'apple',
      embedding: [1, 0],
      embeddings: true,
      explain: true,
    })
    const shown = asked.find(({ content }) => content === 'old apple')
    expect(shown).toMatchObject({ embedding: [1, 0] })
    expect(shown?.explain?.map(({ list }) => list)).not.toContain('vector')
  })

  test('a read-only one without vectors is asked by the words', async () => {
    const plain = new PlainMemory({ readOnly: true })
    plain.records.push(archived)
    await open({ a: { memory: store('a') }, b: { memory: plain, config: READ_ONLY } })
    await write({ content: 'new apple', embedding: [1, 0] })
    const reply = await fixture?.federation.call(
      'memory/recall',
      { embedding: [1, 0] },
      anyContext(),
    )
    expect(reply?.federation?.upstreams['b']).toMatchObject({
      state: 'skipped',
      reason: 'it keeps no vectors',
    })
    expect(contents(await recalled({ query: 'apple', embedding: [1, 0] }))).toContain('old apple')
  })
})

test('a gateway behind a gateway tells its space, compares, and is compared', async () => {
  const inner = await openFederation({
    upstreams: { a: { memory: store('a') }, b: { memory: store('b') } },
    tiers: [tierConfig('a', 'a'), tierConfig('b', 'b')],
  })
  const memory: Memory = {
    call: (method, params, context) =>
      inner.federation.call(method, params, gatewayContext(context)),
    close: async () => {},
  }
  await open({ c: { memory: store('c') }, a: { memory } })
  expect(await vectorsOf()).toEqual({ dimensions: null, metric: 'cosine', metrics: [...METRICS] })
  await write(
    { tier: 'c', content: '2', embedding: [1, 0.2] },
    { tier: 'a', content: '1', embedding: [1, 0.1] },
    { tier: 'a', content: '3', embedding: [1, 0.3] },
  )
  expect(contents(await recalled({ embedding: [1, 0] }))).toEqual(['1', '2', '3'])
  await inner.close()
})

describe('stores that know the extension', () => {
  /** A memory that keeps what it is asked and answers. */
  function watched(inner: Memory) {
    const recalls: { params: ParamsOf<'memory/recall'>; similarities: unknown }[] = []
    const memory: Memory = {
      async call(method, params, context) {
        const result = await inner.call(method, params, context)
        if (method === 'memory/recall' && EXTENSION in result) {
          recalls.push({ params, similarities: result[EXTENSION] })
        }
        return result
      },
      close: () => inner.close(),
    }
    return { memory, recalls }
  }

  test('are asked how near their records are, and for no more than go out', async () => {
    const [a, b] = [watched(store('a')), watched(store('b'))]
    await open({ a, b })
    await write(
      ...[3, 1, 2].map((y) => ({ tier: 'a', content: `${y}`, embedding: [1, y] })),
      { tier: 'b', content: 'zero', embedding: [0, 0] },
      { tier: 'b', content: 'none' },
    )
    const found = await recalled({ embedding: [1, 0], limit: 2 })
    expect(contents(found)).toEqual(['1', '2'])
    expect(Object.keys(found[0] ?? {})).not.toContain('embedding')
    expect(a.recalls).toMatchObject([
      {
        params: { limit: 2, embedding: [1, 0], [EXTENSION]: { similarities: true } },
        similarities: {
          similarities: [expect.closeTo(Math.SQRT1_2), expect.closeTo(Math.cos(Math.atan(2)))],
        },
      },
    ])
    expect(a.recalls[0]?.params).not.toHaveProperty('embeddings')
    expect(b.recalls[0]?.similarities).toEqual({ similarities: [-Number.MAX_VALUE] })
    await recalled({ embedding: [1, 0], query: 'none', limit: 2 })
    expect(b.recalls[1]?.params).toMatchObject({ limit: 20, query: 'none' })
    expect(b.recalls[1]?.similarities).toEqual({ similarities: [null, -Number.MAX_VALUE] })
  })

  test('tell it to a gateway alone', async () => {
    await open({ a: { memory: store('a') }, b: { memory: store('b') } })
    await write({ tier: 'a', content: 'x', embedding: [1, 0] })
    const params = { embedding: [1, 0], [EXTENSION]: { similarities: true } }
    const reply = (context: Context) => fixture?.federation.call('memory/recall', params, context)
    expect(await reply(anyContext())).not.toHaveProperty(EXTENSION)
    expect(await reply(gatewayContext(anyContext()))).toMatchObject({
      records: [{ content: 'x' }],
      [EXTENSION]: { similarities: [1] },
    })
  })

  test('and a gateway whose own vote is off still orders by vector for one in front of it', async () => {
    const voters = { lexical: 1, vector: 0 }
    await open({ a: { memory: store('a') }, b: { memory: store('b') } }, { voters })
    await write(
      { tier: 'a', content: 'far', embedding: [0, 1] },
      { tier: 'b', content: 'near', embedding: [1, 0] },
    )
    expect(contents(await recalled({ embedding: [1, 0] }))).toEqual(['far', 'near'])
    const params = { embedding: [1, 0], [EXTENSION]: { similarities: true } }
    const context = gatewayContext(anyContext())
    const reply = await fixture?.federation.call('memory/recall', params, context)
    expect(contents(reply?.records ?? [])).toEqual(['near', 'far'])
    expect(reply?.[EXTENSION]?.similarities).toEqual([1, 0])
  })
})
