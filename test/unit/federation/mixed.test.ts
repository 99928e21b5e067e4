import { afterEach, expect, test } from 'vitest'
import { JsonText } from '../../../src/protocol/json.js'
import type { MemoryRecord } from '../../../src/protocol/records.js'
import { openFederation, type TestFederation, tierConfig } from '../../support/federation.js'
import { anyContext, contextOf, ownerContext } from '../../support/federation-contexts.js'
import { meets } from '../../support/meets.js'
import { PlainMemory, type PlainOptions } from '../../support/plain-memory.js'

let fixture: TestFederation
afterEach(() => fixture.close())

const SCOPED: PlainOptions = { capabilities: ['core', 'scopes'] }

function record(id: string, content: string, over: Partial<MemoryRecord> = {}): MemoryRecord {
  return { id, content, created_at: '2026-01-01T00:00:00.000Z', ...over }
}

function memory(options: PlainOptions, ...records: MemoryRecord[]): PlainMemory {
  const plain = new PlainMemory(options)
  plain.records.push(...records)
  return plain
}

test('a read-only archive is shown under its name, takes nothing away, and is common ground', async () => {
  const archive = memory({ readOnly: true }, record('7', 'an old apple'))
  fixture = await openFederation({
    upstreams: {
      facts: { memory: memory(SCOPED) },
      archive: { memory: archive, config: { connect: http, owner: 'none' } },
    },
    tiers: [tierConfig('episodic', 'facts', { also: ['archive'] })],
  })
  const { call } = fixture.federation
  const alice = () => ownerContext('alice')
  await call('memory/remember', { records: [{ content: 'a new apple' }] }, alice())
  const { records } = await call('memory/recall', { query: 'apple' }, alice())
  expect(records.map(({ id }) => id)).toContain('archive:7')
  expect((await call('memory/describe', {}, alice())).capabilities).toContain('scopes')
  expect(
    (await call('memory/timeline', { where: { id: 'archive:7' } }, alice())).records,
  ).toHaveLength(1)
  expect((await call('memory/timeline', { where: { id: '7' } }, alice())).records).toHaveLength(0)
  expect(await call('memory/forget', { ids: ['archive:7'] }, alice())).toMatchObject({
    forgotten: 0,
    federation: { upstreams: { archive: { state: 'skipped', count: 1 } } },
  })
  const known = { records: [{ id: 'archive:7', content: 'mine' }] }
  expect(await call('memory/remember', known, alice())).toEqual({ ids: ['archive:7'] })
  const unknown = { records: [{ id: 'archive:8', content: 'mine' }] }
  await expect(call('memory/remember', unknown, alice())).rejects.toMatchObject({ code: -32602 })
  const stuck = { ids: ['archive:7'], tier: 'episodic' }
  expect(await call('memory/promote', stuck, alice())).toEqual({ promoted: 0 })
  expect(archive.asked.some(({ method }) => method === 'memory/forget')).toBe(false)
})

const http = {
  kind: 'http',
  url: 'http://127.0.0.1:1/',
  bearer: undefined,
  connections: 1,
} as const

test('a writable store that keeps no owners apart serves nobody who has one', async () => {
  fixture = await openFederation({
    upstreams: {
      notes: { memory: memory({}, record('1', 'whose?')) },
      facts: { memory: memory(SCOPED) },
    },
    tiers: [tierConfig('facts', 'facts'), tierConfig('notes', 'notes')],
  })
  const { call, report } = fixture.federation
  const alice = () => ownerContext('alice')
  const reply = await call('memory/timeline', {}, alice())
  expect(reply.records).toEqual([])
  expect(reply.federation).toMatchObject({
    partial: false,
    upstreams: { notes: { state: 'skipped', reason: 'it does not keep owners apart' } },
  })
  const write = { records: [{ content: 'x', tier: 'notes' }] }
  await expect(call('memory/remember', write, alice())).rejects.toMatchObject({ code: -32602 })
  expect(report().promised.withheld.get('scopes')).toEqual(['notes: does not declare scopes'])
  expect((await call('memory/describe', {}, alice())).capabilities).not.toContain('scopes')
  await call('memory/remember', write, contextOf({ kind: 'ownerless' }))
  expect((await call('memory/timeline', {}, anyContext())).records).toHaveLength(2)
})

test.each([
  [{ owner: 'none' } as const, ['1']],
  [{ access: 'read-only' } as const, ['1']],
  [{}, []],
])(
  'a store found read-only is common ground only where the configuration says so: %j',
  async (config, seen) => {
    const archive = memory({ readOnly: true }, record('1', 'whose?'))
    fixture = await openFederation({
      upstreams: { facts: { memory: memory(SCOPED) }, archive: { memory: archive, config } },
      tiers: [tierConfig('facts', 'facts', { also: ['archive'] })],
    })
    const { call } = fixture.federation
    const { records } = await call('memory/timeline', {}, ownerContext('alice'))
    expect(records.map(({ id }) => id)).toEqual(seen)
    expect((await call('memory/timeline', {}, anyContext())).records).toHaveLength(1)
  },
)

test('an upstream that ignores owners has its foreign records dropped and counted', async () => {
  const leaky = memory(
    { ...SCOPED, faults: ['ignores-owner'] },
    record('1', 'of bob', { owner: 'bob' }),
  )
  fixture = await openFederation({
    upstreams: { leaky: { memory: leaky } },
    tiers: [tierConfig('leaky', 'leaky')],
  })
  const { call } = fixture.federation
  const alice = ownerContext('alice')
  expect((await call('memory/recall', { query: 'bob' }, alice)).records).toEqual([])
  expect((await call('memory/timeline', {}, alice)).records).toEqual([])
  expect(fixture.blamed).toContainEqual(['leaky', 'foreign_record', 1])
  expect(await call('memory/forget', { ids: ['1'] }, alice)).toEqual({ forgotten: 0 })
  expect(leaky.records).toHaveLength(1)
})

test('an id that a store keeps for somebody else is answered as denied', async () => {
  const shared = memory(SCOPED, record('x', 'of bob', { owner: 'bob' }))
  fixture = await openFederation({
    upstreams: { shared: { memory: shared } },
    tiers: [tierConfig('shared', 'shared')],
  })
  const write = { records: [{ id: 'x', content: 'of alice' }] }
  await expect(
    fixture.federation.call('memory/remember', write, ownerContext('alice')),
  ).rejects.toMatchObject({
    code: -32005,
  })
})

test('equal ids of different records are both shown qualified, and the bare one is refused', async () => {
  fixture = await openFederation({
    upstreams: {
      a: { memory: memory({}, record('1', 'apple one')) },
      b: { memory: memory({}, record('1', 'apple two')) },
    },
    tiers: [tierConfig('a', 'a'), tierConfig('b', 'b')],
  })
  const { call } = fixture.federation
  const { records } = await call('memory/recall', { query: 'apple' }, anyContext())
  expect(records.map(({ id }) => id)).toEqual(['a:1', 'b:1'])
  await expect(call('memory/forget', { ids: ['1'] }, anyContext())).rejects.toMatchObject({
    code: -32602,
  })
  expect(await call('memory/forget', { ids: ['b:1'] }, anyContext())).toEqual({ forgotten: 1 })
  expect(
    (await call('memory/timeline', {}, anyContext())).records.map(({ content }) => content),
  ).toEqual(['apple one'])
})

test('the same record in two places is one hit with two votes, and is forgotten once', async () => {
  const twin = record('1', 'apple')
  fixture = await openFederation({
    upstreams: { a: { memory: memory({}, { ...twin }) }, b: { memory: memory({}, { ...twin }) } },
    tiers: [tierConfig('a', 'a'), tierConfig('b', 'b')],
  })
  const { call } = fixture.federation
  const { records } = await call('memory/recall', { query: 'apple', explain: true }, anyContext())
  expect(records).toHaveLength(1)
  expect(records[0]?.explain?.map(({ list }) => list)).toEqual(['a', 'b', 'lexical'])
  expect((await call('memory/timeline', {}, anyContext())).records).toHaveLength(1)
  expect(await call('memory/forget', { ids: ['1'] }, anyContext())).toEqual({ forgotten: 1 })
  expect((await call('memory/timeline', {}, anyContext())).records).toEqual([])
})

test('a timeline is merged by instant, whatever zone and fraction the upstreams write', async () => {
  const at = (id: string, created_at: string) => record(id, id, { created_at })
  fixture = await openFederation({
    upstreams: {
      a: {
        memory: memory(
          {},
          at('second', '2026-01-01T12:00:00+02:00'),
          at('fourth', '2026-01-01T10:00:00.000002Z'),
        ),
      },
      b: {
        memory: memory(
          {},
          at('third', '2026-01-01T10:00:00.000001Z'),
          at('first', '2026-01-01T09:59:59Z'),
        ),
      },
    },
    tiers: [tierConfig('a', 'a'), tierConfig('b', 'b')],
  })
  const { records } = await fixture.federation.call('memory/timeline', {}, anyContext())
  expect(records.map(({ id }) => id)).toEqual(['first', 'second', 'third', 'fourth'])
  expect(records.map(({ created_at }) => created_at)).toEqual([
    '2026-01-01T09:59:59.000Z',
    '2026-01-01T10:00:00.000Z',
    '2026-01-01T10:00:00.000Z',
    '2026-01-01T10:00:00.000Z',
  ])
  const newest = await fixture.federation.call('memory/timeline', { limit: 2 }, anyContext())
  expect(newest.records.map(({ id }) => id)).toEqual(['third', 'fourth'])
})

test('a moved record keeps its time in a store that cannot be told, and its place in every timeline', async () => {
  let now = Date.parse('2026-01-01T00:00:00.000Z')
  const plain = new PlainMemory({ now: () => now })
  const target = new PlainMemory({ now: () => now })
  fixture = await openFederation({
    upstreams: { hot: { memory: plain }, cold: { memory: target } },
    tiers: [tierConfig('hot', 'hot'), tierConfig('cold', 'cold')],
  })
  const { call } = fixture.federation
  const metadata = new JsonText('{"n":1.0,"2":1,"1":2}')
  await call(
    'memory/remember',
    { records: [{ id: 'old', content: 'old', metadata }] },
    anyContext(),
  )
  now += 1000
  const others = ['b', 'c', 'd'].map((id) => ({ id, content: id, tier: 'cold' }))
  for (const other of others) {
    now += 1000
    await call('memory/remember', { records: [other] }, anyContext())
  }
  now += 1000
  await call('memory/promote', { ids: ['old'], tier: 'cold' }, anyContext())
  expect(target.records.find(({ id }) => id === 'old')?.metadata?.text).toContain('a2m-gateway')
  const { records } = await call('memory/timeline', { tier: 'cold' }, anyContext())
  expect(records.map(({ id }) => id)).toEqual(['old', 'b', 'c', 'd'])
  expect(records[0]).toMatchObject({ created_at: '2026-01-01T00:00:00.000Z', metadata })
  const newest = await call('memory/timeline', { tier: 'cold', limit: 3 }, anyContext())
  expect(newest.records.map(({ id }) => id)).toEqual(['b', 'c', 'd'])
  const byTime = { where: { created_at: '2026-01-01T00:00:00.000Z' } }
  expect((await call('memory/timeline', byTime, anyContext())).records.map(({ id }) => id)).toEqual(
    ['old'],
  )
  const reserved = { records: [{ content: 'x', metadata: new JsonText('{"a2m-gateway":{}}') }] }
  await expect(call('memory/remember', reserved, anyContext())).rejects.toMatchObject({
    code: -32602,
  })
})

test('a store that ignores where on its timeline, or a limit, is put right', async () => {
  const records = Array.from({ length: 30 }, (_, n) =>
    record(`${n}`, `apple ${n}`, { role: n < 3 ? 'user' : 'tool' }),
  )
  const deaf = memory({ faults: ['ignores-where-on-timeline', 'ignores-limit'] }, ...records)
  fixture = await openFederation({
    upstreams: { deaf: { memory: deaf } },
    tiers: [tierConfig('deaf', 'deaf')],
  })
  const { call } = fixture.federation
  const users = await call('memory/timeline', { where: { role: 'user' }, limit: 2 }, anyContext())
  expect(users.records.map(({ id }) => id)).toEqual(['1', '2'])
  expect((await call('memory/recall', { query: 'apple' }, anyContext())).records).toHaveLength(8)
  expect(fixture.blamed.map(([, what]) => what)).toContain('over_limit')
})

test('what is asked of a store is clamped to its maximum, and a selection is forgotten in turns', async () => {
  const records = Array.from({ length: 25 }, (_, n) => record(`${n}`, `apple ${n}`))
  const small = memory({ limits: { max_recall_limit: 10 } }, ...records)
  fixture = await openFederation({
    upstreams: { small: { memory: small }, wide: { memory: memory({}, record('w', 'apple w')) } },
    tiers: [
      tierConfig('small', 'small', { capacity: 5, spillTo: 'wide' }),
      tierConfig('wide', 'wide'),
    ],
  })
  const { call } = fixture.federation
  expect(
    (await call('memory/recall', { query: 'apple', limit: 0 }, anyContext())).records,
  ).toHaveLength(10)
  await expect(
    call('memory/recall', { query: 'apple', limit: 11 }, anyContext()),
  ).rejects.toMatchObject({ code: -32602 })
  await expect(call('memory/consolidate', {}, anyContext())).rejects.toMatchObject({
    data: { tier: 'small' },
  })
  expect(await call('memory/forget', { tier: 'small' }, anyContext())).toEqual({ forgotten: 25 })
  expect(small.records).toEqual([])
})

test(`a memory of read-only stores refuses every write alike, before it looks at one ${meets('2.1/all-or-none', '2.1/writes-refused')}`, async () => {
  const archive = memory({ readOnly: true }, record('1', 'apple'))
  fixture = await openFederation({
    upstreams: { archive: { memory: archive } },
    tiers: [tierConfig('archive', 'archive')],
  })
  for (const method of [
    'memory/remember',
    'memory/forget',
    'memory/promote',
    'memory/consolidate',
  ] as const) {
    expect(fixture.federation.refusal(method, anyContext())).toMatchObject({ code: -32004 })
  }
  expect(fixture.federation.refusal('memory/reinforce', anyContext())).toMatchObject({
    code: -32003,
  })
  expect(fixture.federation.refusal('memory/recall', anyContext())).toBeUndefined()
})

test(`one read-only tier among others is a reason, never a read-only memory ${meets('2.1/all-or-none')}`, async () => {
  fixture = await openFederation({
    upstreams: { facts: { memory: memory({}) }, archive: { memory: memory({ readOnly: true }) } },
    tiers: [tierConfig('facts', 'facts'), tierConfig('archive', 'archive')],
  })
  const { call, refusal } = fixture.federation
  expect(refusal('memory/remember', anyContext())).toBeUndefined()
  const write = { records: [{ content: 'x', tier: 'archive' }] }
  await expect(call('memory/remember', write, anyContext())).rejects.toMatchObject({
    code: -32602,
    message: expect.stringContaining('read-only'),
  })
})

test('without configured tiers the upstreams bring theirs, and an unnamed one its own name', async () => {
  const tiered = memory({ capabilities: ['core', 'tiers'], tiers: ['x', 'y'] })
  fixture = await openFederation({
    upstreams: { tiered: { memory: tiered }, notes: { memory: memory({}) } },
  })
  const { tiers } = await fixture.federation.call('memory/describe', {}, anyContext())
  expect(tiers?.map(({ name }) => name)).toEqual(['x', 'y', 'notes'])
  await fixture.federation.call(
    'memory/remember',
    { records: [{ content: 'n', tier: 'notes' }] },
    anyContext(),
  )
  const sent = fixture.federation.report().layout.sources[1]?.upstream
  expect(sent?.name).toBe('notes')
})

test(`overflow drops whole groups of its own tier, and none that has members elsewhere ${meets('3.4/together')}`, async () => {
  fixture = await openFederation({
    upstreams: { a: { memory: memory({}) }, b: { memory: memory({}) } },
    tiers: [tierConfig('a', 'a', { capacity: 1, overflow: 'drop' }), tierConfig('b', 'b')],
  })
  const { call } = fixture.federation
  const records = [
    { id: 'spread-1', content: '1', group: 'spread' },
    { id: 'spread-2', content: '2', group: 'spread', tier: 'b' },
    { id: 'whole-1', content: '3', group: 'whole' },
    { id: 'whole-2', content: '4', group: 'whole' },
    { id: 'alone', content: '5' },
  ]
  for (const entry of records) await call('memory/remember', { records: [entry] }, anyContext())
  const { dropped } = await call('memory/consolidate', {}, anyContext())
  const left = (await call('memory/timeline', {}, anyContext())).records.map(({ id }) => id)
  expect(left).toEqual(expect.arrayContaining(['spread-1', 'spread-2']))
  expect(left.includes('whole-1')).toBe(left.includes('whole-2'))
  expect(dropped).toBe(records.length - left.length)
  expect(dropped).toBeGreaterThan(0)
})
