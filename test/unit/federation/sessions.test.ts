import { afterEach, describe, expect, test } from 'vitest'
import type { TierConfig, UpstreamConfig } from '../../../src/config/config.js'
import { A2mError } from '../../../src/protocol/errors.js'
import { EXTENSION } from '../../../src/protocol/extension.js'
import type { Memory } from '../../../src/protocol/memory.js'
import type { Capability } from '../../../src/protocol/methods.js'
import type { Entry } from '../../../src/protocol/records.js'
import { formatInstant } from '../../../src/protocol/time.js'
import {
  embeddedStore,
  openFederation,
  type TestFederation,
  tierConfig,
} from '../../support/federation.js'
import { anyContext, observed, ownerContext } from '../../support/federation-contexts.js'
import { lesserStore } from '../../support/lesser-store.js'
import { Faulty } from '../../support/plain-memory.js'

const open: TestFederation[] = []
afterEach(async () => {
  for (const fixture of open.splice(0)) await fixture.close()
})

const FULL: readonly Capability[] = ['core', 'tiers', 'scopes', 'salience', 'sessions', 'external']
const NAMES = ['working', 'episodic', 'semantic'] as const
type Name = (typeof NAMES)[number]
type Settings = { readonly [N in Name]?: Partial<TierConfig> }

interface Fixture extends TestFederation {
  readonly stores: { readonly [N in Name]: Faulty }
  remember(entries: readonly (Entry & { readonly at?: number })[], owner?: string): Promise<void>
  tiersOf(session: string | null, owner?: string): Promise<Record<string, string>>
}

const FLOW: Settings = {
  working: { kind: 'working', spillTo: 'episodic' },
  episodic: { kind: 'episodic' },
  semantic: { kind: 'semantic' },
}

/** A tier on each of three stores; `wrap` stands between a store and the federation. */
async function fixture(
  settings: Settings = FLOW,
  wrap: (memory: Memory, name: Name) => Memory = (memory) => memory,
  configs: { readonly [N in Name]?: Partial<UpstreamConfig> } = {},
): Promise<Fixture> {
  const store = (name: Name) =>
    new Faulty(wrap(embeddedStore({ path: ':memory:', tiers: [name] }), name))
  const stores = {
    working: store('working'),
    episodic: store('episodic'),
    semantic: store('semantic'),
  }
  const made = await openFederation({
    upstreams: Object.fromEntries(
      NAMES.map((name) => [`at-${name}`, { memory: stores[name], config: configs[name] ?? {} }]),
    ),
    tiers: NAMES.map((name) => tierConfig(name, `at-${name}`, settings[name])),
  })
  open.push(made)
  return {
    ...made,
    stores,
    async remember(entries, owner = 'alice') {
      const carried = entries.map(({ at }) =>
        at === undefined ? null : { created_at: formatInstant(at) },
      )
      const records = entries.map(({ at: _, ...entry }) => ({ ...entry, owner }))
      const gateway = anyContext()
      const caller = { ...gateway.caller, roles: ['gateway'] }
      const params = { records, [EXTENSION]: { carried } }
      await made.federation.call('memory/remember', params, { ...gateway, caller })
    },
    async tiersOf(session, owner = 'alice') {
      const { records } = await made.federation.call(
        'memory/timeline',
        { where: { session } },
        ownerContext(owner),
      )
      return Object.fromEntries(records.map(({ id, tier = '' }) => [id, tier]))
    },
  }
}

const list = ({ federation }: Fixture, owner = 'alice') =>
  federation.call('memory/session/list', {}, ownerContext(owner))
const close = ({ federation }: Fixture, session: string, owner = 'alice') =>
  federation.call('memory/session/close', { session }, ownerContext(owner))

const T = Date.UTC(2026, 0, 1)
const HOUR = 3_600_000

describe('memory/session/list', () => {
  test('adds up what every upstream holds, in the order of opening, of one owner', async () => {
    const made = await fixture()
    await made.remember([
      { id: 'a', content: 'a', session: 'late', at: T + 5 * HOUR },
      { id: 'b', content: 'b', session: 'early', tier: 'episodic', at: T + 2 * HOUR },
      { id: 'c', content: 'c', session: 'early', tier: 'semantic', at: T + HOUR },
      { id: 'd', content: 'd', session: 'early', tier: 'semantic', at: T + 9 * HOUR },
      { id: 'e', content: 'e' },
    ])
    await made.remember([{ id: 'f', content: 'f', session: 'early' }], 'bob')
    const { sessions, federation } = await list(made)
    expect(sessions).toEqual([
      {
        session: 'early',
        records: 3,
        tiers: { episodic: 1, semantic: 2 },
        opened_at: formatInstant(T + HOUR),
        touched_at: formatInstant(T + 9 * HOUR),
      },
      {
        session: 'late',
        records: 1,
        tiers: { working: 1 },
        opened_at: formatInstant(T + 5 * HOUR),
        touched_at: formatInstant(T + 5 * HOUR),
      },
    ])
    expect(federation).toMatchObject({
      partial: false,
      upstreams: { 'at-working': { state: 'ok', count: 1 }, 'at-semantic': { count: 1 } },
    })
    const everybodys = await made.federation.call('memory/session/list', {}, anyContext())
    expect(everybodys.sessions.map(({ session, records }) => [session, records])).toEqual([
      ['early', 4],
      ['late', 1],
    ])
  })

  test('is partial without an upstream, and an error without any', async () => {
    const made = await fixture()
    await made.remember([{ id: 'a', content: 'a', session: 's' }])
    made.stores.semantic.fault = () => new Error('gone')
    expect(await list(made)).toMatchObject({
      sessions: [{ session: 's' }],
      federation: { partial: true, upstreams: { 'at-semantic': { state: 'failed' } } },
    })
    for (const store of Object.values(made.stores)) store.fault = () => new Error('gone')
    await expect(list(made)).rejects.toMatchObject({ code: -32603 })
  })

  test('tells the times of records that were moved as they are shown', async () => {
    const made = await fixture(FLOW, (memory, name) =>
      name === 'episodic' ? lesserStore(memory, FULL) : memory,
    )
    await made.remember([{ id: 'a', content: 'a', session: '__proto__', at: T }])
    await made.federation.call(
      'memory/promote',
      { ids: ['a'], tier: 'episodic' },
      ownerContext('alice'),
    )
    expect((await list(made)).sessions).toEqual([
      {
        session: '__proto__',
        records: 1,
        tiers: { episodic: 1 },
        opened_at: formatInstant(T),
        touched_at: formatInstant(T),
      },
    ])
  })
})

describe('memory/session/close', () => {
  test('takes a conversation out of the working tier, whole groups with it, and leaves the others', async () => {
    const made = await fixture()
    await made.remember([
      { id: 'a', content: 'a', session: 'done' },
      { id: 'b', content: 'b', session: 'done', group: 'turn' },
      { id: 'c', content: 'c', group: 'turn', session: 'other' },
      { id: 'd', content: 'd', session: 'other' },
      { id: 'e', content: 'e' },
    ])
    await made.remember([{ id: 'a', content: 'of bob', session: 'done' }], 'bob')
    expect(await close(made, 'done')).toEqual({
      closed: 'done',
      flushed: 3,
      moved: 3,
      promoted: 0,
      dropped: 0,
      summarized: 0,
      counts: { working: 2, episodic: 3, semantic: 0 },
    })
    expect(await made.tiersOf('done')).toEqual({ a: 'episodic', b: 'episodic' })
    expect(await made.tiersOf('other')).toEqual({ c: 'episodic', d: 'working' })
    expect(await made.tiersOf(null)).toEqual({ e: 'working' })
    expect(await made.tiersOf('done', 'bob')).toEqual({ a: 'working' })
    expect(await close(made, 'done')).toMatchObject({ flushed: 0, moved: 0 })
  })

  test('of a session that is not there asks for no write', async () => {
    const made = await fixture()
    await made.remember([{ id: 'a', content: 'a', session: 'other' }])
    const { context, asks } = observed(ownerContext('alice'))
    const before = await made.federation.call('memory/events', {}, context)
    const closed = await made.federation.call('memory/session/close', { session: 'x' }, context)
    expect(closed).toMatchObject({ closed: 'x', flushed: 0, counts: { working: 1 } })
    expect([...new Set(asks.map(({ method }) => method))].toSorted()).toEqual([
      'memory/describe',
      'memory/timeline',
    ])
    const { cursor } = before
    expect((await made.federation.call('memory/events', { cursor }, context)).events).toEqual([])
  })

  test('lets the tiers below go by their own rules, and is told as one', async () => {
    const made = await fixture({
      ...FLOW,
      episodic: {
        kind: 'episodic',
        capacity: 2,
        spillTo: 'semantic',
        promoteTo: 'semantic',
        promoteAfter: 1,
      },
    })
    await made.remember([
      { id: 'old', content: 'old', tier: 'episodic', at: T },
      { id: 'a', content: 'a', session: 's', at: T + HOUR },
      { id: 'b', content: 'apple', session: 's', at: T + 2 * HOUR },
      { id: 'c', content: 'c', session: 's', at: T + 3 * HOUR },
    ])
    await made.federation.call('memory/recall', { query: 'apple', limit: 1 }, ownerContext('alice'))
    const context = ownerContext('alice')
    const { cursor } = await made.federation.call('memory/events', {}, context)
    expect(await close(made, 's')).toMatchObject({
      flushed: 3,
      moved: 4,
      promoted: 1,
      counts: { working: 0, episodic: 2, semantic: 2 },
    })
    expect(await made.tiersOf('s')).toEqual({ a: 'episodic', b: 'semantic', c: 'episodic' })
    const { events } = await made.federation.call('memory/events', { cursor }, context)
    expect(events).toMatchObject([
      { kind: 'consolidated', moved: 4, promoted: 1 },
      { kind: 'session_closed', session: 's' },
    ])
    expect(events).toHaveLength(2)
  })

  test('destroys nothing where the working tier spills nowhere, whatever it does when it overflows', async () => {
    const made = await fixture({
      ...FLOW,
      working: { kind: 'working', capacity: 1, overflow: 'drop' },
    })
    await made.remember([
      { id: 'a', content: 'a', session: 's' },
      { id: 'b', content: 'b', session: 's' },
    ])
    expect(await close(made, 's')).toMatchObject({ flushed: 0, moved: 0, dropped: 0 })
    expect(await made.tiersOf('s')).toEqual({ a: 'working', b: 'working' })
  })

  test('goes by the first tier that spills where none says its kind', async () => {
    const made = await fixture({ working: { spillTo: 'episodic' } })
    await made.remember([{ id: 'a', content: 'a', session: 's' }])
    expect(await close(made, 's')).toMatchObject({ flushed: 1 })
  })

  test('does nothing while an upstream is silent, and nothing is lost by one that dies on the way', async () => {
    const made = await fixture()
    await made.remember([{ id: 'a', content: 'a', session: 's' }])
    made.stores.semantic.fault = () => new Error('gone')
    await expect(close(made, 's')).rejects.toMatchObject({ data: { outcome: 'not_sent' } })
    made.stores.semantic.fault = () => undefined
    made.stores.episodic.fault = (method) =>
      method === 'memory/remember' ? new A2mError('INTERNAL_ERROR', 'full') : undefined
    await expect(close(made, 's')).rejects.toMatchObject({ code: -32603 })
    expect(await made.tiersOf('s')).toEqual({ a: 'working' })
    made.stores.episodic.fault = () => undefined
    expect(await close(made, 's')).toMatchObject({ flushed: 1 })
  })
})

describe('memory/consolidate', () => {
  test('bounds each conversation of a tier by itself', async () => {
    const made = await fixture({
      ...FLOW,
      working: { kind: 'working', spillTo: 'episodic', capacity: 2, perSession: true },
    })
    const talk = (session: string, count: number) =>
      Array.from({ length: count }, (_, index) => ({
        id: `${session}${index}`,
        content: session,
        session,
        at: T + index * HOUR,
      }))
    await made.remember([...talk('busy', 5), ...talk('quiet', 2)])
    const result = await made.federation.call('memory/consolidate', {}, ownerContext('alice'))
    expect(result).toMatchObject({ moved: 3, counts: { working: 4, episodic: 3 } })
    expect(await made.tiersOf('quiet')).toEqual({ quiet0: 'working', quiet1: 'working' })
    expect((await made.tiersOf('busy'))['busy4']).toBe('working')
  })

  test('leaves a group that cannot go where it is, and takes the others', async () => {
    const bounded = { kind: 'working', spillTo: 'episodic', capacity: 1 }
    const made = await fixture({ ...FLOW, working: bounded }, undefined, {
      semantic: { access: 'read-only' },
    })
    await made.remember([
      { id: 'a', content: 'a', group: 'g', at: T },
      { id: 'b', content: 'b', at: T + HOUR },
      { id: 'c', content: 'c', at: T + 2 * HOUR },
    ])
    const stuck = [{ id: 'x', content: 'x', owner: 'alice', group: 'g' }]
    await made.stores.semantic.call('memory/remember', { records: stuck }, anyContext())
    const result = await made.federation.call('memory/consolidate', {}, ownerContext('alice'))
    expect(result).toMatchObject({ moved: 1, counts: { working: 2, episodic: 1, semantic: 1 } })
    expect(await made.tiersOf(null)).toMatchObject({ a: 'working', b: 'episodic', x: 'semantic' })
  })
})

test('what a tier goes by and nobody keeps is a problem, and described all the same', async () => {
  const made = await fixture(
    {
      ...FLOW,
      working: { capacity: 2, perSession: true, spillTo: 'episodic' },
      episodic: { promoteTo: 'semantic', promoteAfter: 2, halfLife: HOUR },
    },
    (memory) => lesserStore(memory, ['core', 'tiers', 'scopes']),
  )
  expect(made.federation.report().layout.problems).toEqual([
    'tiers.working.per_session: at-working does not declare sessions',
    'tiers.episodic.promote_after: at-episodic does not declare salience',
    'tiers.episodic.half_life: at-episodic does not declare salience',
  ])
  const { tiers } = await made.federation.call('memory/describe', {}, anyContext())
  expect(tiers).toMatchObject([
    { per_session: true, capacity: 2 },
    { promote_after: 2, half_life: 3600 },
    { name: 'semantic' },
  ])
  for (const method of ['memory/session/list', 'memory/session/close'] as const) {
    expect(made.federation.refusal(method, anyContext())).toMatchObject({ code: -32003 })
  }
})

test('nothing spills into what its upstream calls procedural', async () => {
  const store = (tier: string) => ({ memory: embeddedStore({ path: ':memory:', tiers: [tier] }) })
  const made = await openFederation({
    upstreams: { one: store('working'), two: store('procedural') },
    tiers: [
      tierConfig('working', 'one', { spillTo: 'skills', capacity: 1 }),
      tierConfig('skills', 'two', { upstreamTier: 'procedural' }),
    ],
  })
  open.push(made)
  const { layout } = made.federation.report()
  expect(layout.tiers.map(({ kind, spillTo }) => [kind, spillTo])).toEqual([
    ['working', undefined],
    ['procedural', undefined],
  ])
  expect(layout.problems).toEqual([
    'tiers.working.spill_to: skills is procedural memory by its upstream, and nothing spills into that',
  ])
  const alice = ownerContext('alice')
  const records = ['a', 'b'].map((id) => ({ id, content: id, session: 's' }))
  await made.federation.call('memory/remember', { records }, alice)
  expect(await made.federation.call('memory/consolidate', {}, alice)).toMatchObject({ moved: 0 })
  const closed = await made.federation.call('memory/session/close', { session: 's' }, alice)
  expect(closed).toMatchObject({ flushed: 0, counts: { working: 2, skills: 0 } })
})
