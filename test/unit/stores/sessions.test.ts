import { expect, test } from 'vitest'
import { EXTENSION } from '../../../src/protocol/extension.js'
import { meets } from '../../support/meets.js'
import { contents, OpenStore } from './open.js'

const CHAIN = [
  { name: 'working', kind: 'working', capacity: 3, spill_to: 'episodic', per_session: true },
  { name: 'episodic', kind: 'episodic', capacity: 4, spill_to: 'semantic' },
  { name: 'semantic', kind: 'semantic' },
  { name: 'procedural', kind: 'procedural' },
]

const talk = (session: string, ...texts: readonly string[]) =>
  texts.map((content) => ({ content, session }))

const tierOf = async (store: OpenStore, tier: string) => contents(await store.timeline({ tier }))

test(`a session is the one of the entry or else of the call, and comes back ${meets('3.5/kept')}`, async () => {
  const store = new OpenStore()
  const records = [{ content: 'own', session: 'a' }, { content: 'of the call' }]
  await store.call('memory/remember', { session: 'b', records })
  await store.write('without')
  expect((await store.timeline()).map(({ session }) => session)).toEqual(['a', 'b', undefined])
})

test.each([
  [{ session: 'a' }, ['a1', 'a2', 'a3']],
  [{ session: ['a', 'b'] }, ['a1', 'b1', 'a2', 'a3']],
  [{ session: 'none' }, []],
  [{ session: null }, ['nobody']],
  [{ session: [null, 'b'] }, ['nobody', 'b1']],
  [{ session: 'a', role: 'user' }, ['a2']],
  [{ session: 1 }, []],
])(
  `where %j replays in order ${meets('3.5/timeline-where', '4.4/where', '3.5/no-session')}`,
  async (where, expected) => {
    const store = new OpenStore()
    await store.write(
      ...talk('a', 'a1'),
      'nobody',
      ...talk('b', 'b1'),
      { content: 'a2', session: 'a', role: 'user', owner: 'ann' },
      { content: 'a3', session: 'a', tier: 'semantic' },
    )
    expect(contents(await store.timeline({ where }))).toEqual(expected)
    expect(contents(await store.timeline({ where, limit: 2 }))).toEqual(expected.slice(-2))
    expect(contents(await store.recall({ where, limit: 0 }))).toEqual(expected.toReversed())
  },
)

test('a session of more records than are looked at one by one is searched and replayed', async () => {
  const store = new OpenStore()
  const records = Array.from({ length: 1200 }, (_, n) => ({ content: `turn ${n}`, session: 's' }))
  await store.call('memory/remember', { records: [...records, ...talk('t', 'turn of another')] })
  const where = { session: 's' }
  expect(await store.recall({ where, query: 'turn', limit: 0 })).toHaveLength(1200)
  expect(contents(await store.timeline({ where, limit: 1 }))).toEqual(['turn 1199'])
})

test(`list tells how many records are where, and since when until when ${meets('4.10/entries')}`, async () => {
  const store = new OpenStore()
  await store.write(
    ...talk('b', 'b1'),
    ...talk('a', 'a1', 'a2'),
    { content: 'a3', session: 'a', tier: 'semantic' },
    'without',
  )
  const at = (ms: number) => `2026-01-01T00:00:00.00${ms}Z`
  expect(await store.call('memory/session/list', {})).toEqual({
    sessions: [
      { session: 'b', records: 1, tiers: { working: 1 }, opened_at: at(1), touched_at: at(1) },
      {
        ...{ session: 'a', records: 3, tiers: { working: 2, semantic: 1 } },
        ...{ opened_at: at(2), touched_at: at(4) },
      },
    ],
  })
})

test('list is of one owner, of nobody, or of all together', async () => {
  const store = new OpenStore()
  await store.write(
    { content: 'x', session: 's', owner: 'ann' },
    { content: 'y', session: 's', owner: 'ann' },
    { content: 'z', session: 't', owner: 'bob' },
    { content: 'w', session: 's' },
  )
  const list = async (params: object) =>
    (await store.call('memory/session/list', params)).sessions.map((one) => [
      one.session,
      one.records,
      one.tiers,
    ])
  expect(await list({ owner: 'ann' })).toEqual([['s', 2, { working: 2 }]])
  expect(await list({ owner: 'bob' })).toEqual([['t', 1, { working: 1 }]])
  expect(await list({ owner: 'eve' })).toEqual([])
  expect(await list({ [EXTENSION]: { owner: null } })).toEqual([['s', 1, { working: 1 }]])
  expect(await list({})).toEqual([
    ['s', 3, { working: 3 }],
    ['t', 1, { working: 1 }],
  ])
})

test('capacity is of each session, and of those without one together', async () => {
  const store = new OpenStore({ tiers: CHAIN })
  await store.write(
    ...talk('busy', 'b1', 'b2', 'b3', 'b4', 'b5'),
    ...talk('quiet', 'q1', 'q2'),
    ...['n1', 'n2', 'n3', 'n4'],
  )
  const done = await store.call('memory/consolidate', {})
  expect(done).toMatchObject({ moved: 3, dropped: 0 })
  expect(await tierOf(store, 'episodic')).toEqual(['b1', 'b2', 'n1'])
  expect(await tierOf(store, 'working')).toEqual(['b3', 'b4', 'b5', 'q1', 'q2', 'n2', 'n3', 'n4'])
})

test('a group over two sessions moves whole, and counts for each', async () => {
  const store = new OpenStore({ tiers: CHAIN })
  await store.write(
    { content: 'a0', session: 'a', group: 'g' },
    ...talk('a', 'a1', 'a2', 'a3'),
    { content: 'b0', session: 'b', group: 'g' },
    ...talk('b', 'b1', 'b2', 'b3'),
  )
  expect(await store.call('memory/consolidate', {})).toMatchObject({ moved: 2 })
  expect(await tierOf(store, 'episodic')).toEqual(['a0', 'b0'])
})

test(`close takes a conversation out of the working tier, and nothing else ${meets('4.11/kept')}`, async () => {
  const store = new OpenStore({ tiers: CHAIN })
  await store.write(
    ...talk('a', 'a1', 'a2'),
    ...talk('b', 'b1'),
    'nobody',
    { content: 'p', session: 'a', tier: 'procedural' },
    { content: 's', session: 'a', tier: 'semantic' },
  )
  expect(await store.call('memory/session/close', { session: 'a' })).toEqual({
    ...{ closed: 'a', flushed: 2, moved: 2, promoted: 0, dropped: 0, summarized: 0 },
    counts: { working: 2, episodic: 2, semantic: 1, procedural: 1 },
  })
  expect(await tierOf(store, 'episodic')).toEqual(['a1', 'a2'])
  expect(await tierOf(store, 'working')).toEqual(['b1', 'nobody'])
  expect(await tierOf(store, 'procedural')).toEqual(['p'])
  expect(await store.timeline({ where: { session: 'a' } })).toHaveLength(4)
})

test('what arrives below is held to the rules there, all the way down', async () => {
  const store = new OpenStore({ tiers: CHAIN })
  await store.write(...['e1', 'e2', 'e3'].map((content) => ({ content, tier: 'episodic' })))
  await store.write(...talk('a', 'a1', 'a2', 'a3'))
  const closed = await store.call('memory/session/close', { session: 'a' })
  expect(closed).toMatchObject({ flushed: 3, moved: 5 })
  expect(await tierOf(store, 'semantic')).toEqual(['e1', 'e2'])
  expect(await tierOf(store, 'episodic')).toEqual(['e3', 'a1', 'a2', 'a3'])
})

test('closing leaves an overfull working tier of others as it is', async () => {
  const store = new OpenStore({ tiers: CHAIN })
  await store.write(...talk('a', 'a1'), ...talk('b', 'b1', 'b2', 'b3', 'b4', 'b5'))
  await store.call('memory/session/close', { session: 'a' })
  expect(await tierOf(store, 'working')).toEqual(['b1', 'b2', 'b3', 'b4', 'b5'])
})

test('closing takes groups whole and counts what left the working tier', async () => {
  const store = new OpenStore({ tiers: CHAIN })
  await store.write(
    { content: 'call', session: 'a', group: 'g' },
    { content: 'result', group: 'g' },
    { content: 'old part', group: 'g', tier: 'semantic' },
  )
  const closed = await store.call('memory/session/close', { session: 'a' })
  expect(closed).toMatchObject({ flushed: 2, moved: 3 })
  expect(await tierOf(store, 'episodic')).toEqual(['call', 'result', 'old part'])
})

test('what earned promotion is promoted on the way', async () => {
  const tiers = [
    CHAIN[0] ?? 'working',
    { name: 'episodic', kind: 'episodic', promote_to: 'semantic', promote_after: 2 },
    'semantic',
  ]
  const store = new OpenStore({ tiers })
  await store.write(...talk('a', 'often', 'never'))
  for (let times = 0; times < 2; times++) await store.recall('often')
  const closed = await store.call('memory/session/close', { session: 'a' })
  expect(closed).toMatchObject({ flushed: 2, moved: 2, promoted: 1, counts: { semantic: 1 } })
  expect(await tierOf(store, 'semantic')).toEqual(['often'])
  expect(await tierOf(store, 'episodic')).toEqual(['never'])
})

test('closing is of the owner that is named', async () => {
  const store = new OpenStore({ tiers: CHAIN })
  for (const owner of ['ann', 'bob']) await store.write({ content: owner, session: 's', owner })
  const closed = await store.call('memory/session/close', { session: 's', owner: 'ann' })
  expect(closed).toMatchObject({ flushed: 1, counts: { working: 0, episodic: 1 } })
  expect(await tierOf(store, 'working')).toEqual(['bob'])
  const all = await store.call('memory/session/close', { session: 's' })
  expect(all).toMatchObject({ flushed: 1, counts: { working: 0, episodic: 2 } })
})

test(`a session that is not there, or no more in the working tier, is none to close ${meets('4.11/unknown')}`, async () => {
  const store = new OpenStore({ tiers: CHAIN })
  await store.write(
    ...['1', '2', '3', '4', '5', '6'].map((content) => ({ content, tier: 'episodic' })),
  )
  await store.write(...talk('a', 'a1'))
  const nothing = { flushed: 0, moved: 0, promoted: 0, dropped: 0 }
  const unknown = await store.call('memory/session/close', { session: 'none' })
  expect(unknown).toMatchObject({ ...nothing, closed: 'none', counts: { episodic: 6 } })
  await store.call('memory/session/close', { session: 'a' })
  expect(await store.call('memory/session/close', { session: 'a' })).toMatchObject(nothing)
  expect(await store.timeline()).toHaveLength(7)
})

test('a session of a megabyte is a session', async () => {
  const store = new OpenStore({ tiers: CHAIN })
  const session = 's'.repeat(1_000_000)
  await store.write(...talk(session, 'x'), ...talk(`${session}t`, 'y'))
  const { sessions } = await store.call('memory/session/list', {})
  expect(sessions.map((one) => one.session.length)).toEqual([1_000_000, 1_000_001])
  expect(contents(await store.timeline({ where: { session } }))).toEqual(['x'])
  expect(await store.call('memory/session/close', { session })).toMatchObject({ flushed: 1 })
})
