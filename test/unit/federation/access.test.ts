import { afterEach, describe, expect, test } from 'vitest'
import { withPush } from '../../../src/edge/with-push.js'
import type { Grant } from '../../../src/protocol/access.js'
import { Cancellation } from '../../../src/protocol/cancellation.js'
import { checkParams } from '../../../src/protocol/checks.js'
import { type A2mError, CODES, Fault } from '../../../src/protocol/errors.js'
import type { Context, Memory } from '../../../src/protocol/memory.js'
import type { Method, ResultOf } from '../../../src/protocol/methods.js'
import { serve } from '../../../src/protocol/serve.js'
import { systemClock } from '../../../src/protocol/time.js'
import {
  embeddedStore,
  openFederation,
  type TestFederation,
  tierConfig,
} from '../../support/federation.js'
import { ownerContext } from '../../support/federation-contexts.js'
import { accessBy, granted } from '../../support/grants.js'
import { errorOf } from '../../support/keyed.js'

let fixture: TestFederation | undefined
afterEach(async () => {
  await fixture?.close()
  fixture = undefined
})

const store = (...tiers: string[]) => ({ memory: embeddedStore({ path: ':memory:', tiers }) })

/** Tiers `open` and `shelf` at one store, `secret` at another. */
async function opened(over: { readonly secret?: Memory } = {}): Promise<TestFederation> {
  const secret = over.secret === undefined ? store('secret') : { memory: over.secret }
  fixture = await openFederation({
    places: 'kept',
    upstreams: { library: store('open', 'shelf'), vault: secret },
    tiers: [
      tierConfig('secret', 'vault', { kind: 'working', capacity: 1, spillTo: 'open' }),
      tierConfig('open', 'library', { kind: 'working', capacity: 1, spillTo: 'secret' }),
      tierConfig('shelf', 'library', { kind: 'semantic' }),
    ].map((tier) => (tier.name === 'secret' ? { ...tier, capacity: 0, spillTo: undefined } : tier)),
  })
  return fixture
}

const nobody: Memory = {
  call: () => Promise.reject(new Fault('unreachable', 'nobody is there')),
  close: async () => {},
}

const ANNA = { kind: 'owners', owners: ['anna'] } as const
const everything = () => ownerContext('anna')
const within = (...grants: Partial<Grant>[]) => granted(accessBy(...grants), ANNA)
const outOfSecret = { tiers: new Set(['open', 'shelf']) }

async function call<M extends Method>(
  method: M,
  params: object = {},
  context: () => Context = everything,
): Promise<ResultOf<M>> {
  if (fixture === undefined) throw new Error('no federation is open')
  return fixture.federation.call(method, checkParams(method, params), context())
}

async function remember(context: () => Context, ...records: object[]): Promise<string[]> {
  const entries = records.map((record) => ({ content: 'text', ...record }))
  return (await call('memory/remember', { records: entries }, context)).ids
}

async function refused(task: Promise<unknown>): Promise<Partial<A2mError>> {
  const { code, message, data } = (await errorOf(task)) as A2mError
  return { code, message, ...(data === undefined ? {} : { data }) }
}

const DENIED = { code: CODES.SCOPE_DENIED }

describe('a tier that is hidden', () => {
  test('is not known, in the very words in which one that does not exist is not', async () => {
    await opened()
    const bounded = within(outOfSecret)
    for (const [method, params] of [
      ['memory/recall', { query: 'x' }],
      ['memory/timeline', {}],
      ['memory/forget', {}],
      ['memory/promote', { ids: ['any'] }],
    ] as const) {
      const hidden = await refused(call(method, { ...params, tier: 'secret' }, bounded))
      const absent = await refused(call(method, { ...params, tier: 'nowhere' }, bounded))
      expect(hidden).toMatchObject({ code: CODES.UNKNOWN_TIER, data: { tiers: ['open', 'shelf'] } })
      expect(JSON.stringify(hidden).replaceAll('secret', 'nowhere')).toBe(JSON.stringify(absent))
    }
    const entry = (tier: string) => remember(bounded, { tier })
    expect(await refused(entry('secret'))).toMatchObject({ code: CODES.UNKNOWN_TIER })
    const into = call('memory/summarize', { tier: 'open', into: 'secret' }, bounded)
    expect(await refused(into)).toMatchObject({ code: CODES.UNKNOWN_TIER })
  })

  test('is not in describe, nor named there as where another spills to', async () => {
    await opened()
    const { tiers, federation } = await call('memory/describe', {}, within(outOfSecret))
    expect(tiers?.map(({ name, spill_to }) => [name, spill_to])).toEqual([
      ['open', undefined],
      ['shelf', undefined],
    ])
    expect(federation).toBeUndefined()
    const whole = await call('memory/describe')
    expect(whole.tiers?.map(({ name }) => name)).toEqual(['secret', 'open', 'shelf'])
  })

  test('takes nothing that spills in the calls of a caller from whom it is hidden', async () => {
    await opened()
    await remember(everything, { tier: 'open' }, { tier: 'open' }, { tier: 'open' })
    expect(await call('memory/consolidate', {}, within(outOfSecret))).toMatchObject({
      moved: 0,
      counts: { open: 3, shelf: 0 },
    })
    expect(await call('memory/consolidate')).toMatchObject({ moved: 2, counts: { secret: 2 } })
  })

  test('is no gap of an answer when its upstream is down, and is named in none', async () => {
    const { federation } = await opened({ secret: nobody })
    expect(federation.report().layout.absent.has('vault')).toBe(true)
    const { federation: report } = await call('memory/recall', { query: 'x' }, within(outOfSecret))
    expect(report).toMatchObject({ partial: false })
    expect(Object.keys(report?.upstreams ?? {})).toEqual(['library'])
    const error = await refused(remember(within(outOfSecret), { tier: 'open', id: 'mine' }))
    expect(error).toMatchObject({ code: CODES.INTERNAL_ERROR, data: { outcome: 'not_sent' } })
    expect(JSON.stringify(error)).not.toContain('vault')
    expect(await refused(remember(everything, { tier: 'open', id: 'mine' }))).toMatchObject({
      message: expect.stringContaining('vault'),
    })
  })
})

describe('a caller with roles', () => {
  test('writes by default to the first tier that it may write to', async () => {
    await opened()
    const [id = ''] = await remember(within(outOfSecret), {})
    expect((await call('memory/timeline', { tier: 'open' })).records[0]?.id).toBe(id)
    const [other = ''] = await remember(
      within({ access: 'read', tiers: new Set(['open']) }, { tiers: new Set(['shelf']) }),
      {},
    )
    expect((await call('memory/timeline', { tier: 'shelf' })).records[0]?.id).toBe(other)
  })

  test('may not write to a tier that it only reads', async () => {
    await opened()
    const reading = within({ access: 'read' }, { tiers: new Set(['shelf']) })
    expect(await refused(remember(reading, { tier: 'open' }))).toMatchObject(DENIED)
    const forget = call('memory/forget', { tier: 'open' }, reading)
    expect(await refused(forget)).toMatchObject(DENIED)
    expect(await remember(reading, { tier: 'shelf' })).toHaveLength(1)
  })

  test('forgets by a query only what recall finds for it and it may write', async () => {
    await opened()
    for (let n = 0; n < 8; n++) await remember(everything, { tier: 'open', content: 'apple apple' })
    await remember(everything, { tier: 'shelf', content: 'apple and a great many other words' })
    const mixed = within({ access: 'read' }, { tiers: new Set(['shelf']) })
    const { records } = await call('memory/recall', { query: 'apple' }, mixed)
    const own = records.filter(({ tier }) => tier === 'shelf').length
    const { forgotten } = await call('memory/forget', { query: 'apple' }, mixed)
    expect(forgotten).toBe(own)
    expect((await call('memory/timeline', { tier: 'open' })).records).toHaveLength(8)
  })

  test.each([
    ['a key', { tier: 'secret', key: 'user/city' }, { key: 'user/city' }],
    ['an id', { tier: 'secret', id: 'mine' }, { id: 'mine' }],
  ])(
    'may not write to %s that is where it does not reach, and nothing is written',
    async (_, held, entry) => {
      await opened()
      await remember(everything, held)
      const before = (await call('memory/timeline')).records
      const bounded = within(outOfSecret)
      expect(await refused(remember(bounded, { content: 'another' }, { ...entry }))).toMatchObject(
        DENIED,
      )
      expect((await call('memory/timeline')).records).toEqual(before)
      expect((await call('memory/timeline', {}, bounded)).records).toEqual([])
    },
  )

  test('may not move a group of which a part is where it does not reach', async () => {
    await opened()
    const [one = ''] = await remember(
      everything,
      { tier: 'open', group: 'g' },
      { tier: 'secret', group: 'g' },
    )
    const bounded = within(outOfSecret)
    const promote = call('memory/promote', { ids: [one], tier: 'shelf' }, bounded)
    expect(await refused(promote)).toMatchObject(DENIED)
    expect(
      await refused(
        remember(bounded, { key: 'k', tier: 'open', group: 'g' }).then(() =>
          remember(bounded, { key: 'k', tier: 'shelf' }),
        ),
      ),
    ).toMatchObject(DENIED)
    expect((await call('memory/timeline', { tier: 'shelf' })).records).toEqual([])
    expect(await call('memory/promote', { ids: [one], tier: 'shelf' })).toEqual({ promoted: 3 })
  })
})

describe('prefixes of keys', () => {
  const workflows = { keyPrefixes: ['wf/1'] }

  test.each<[string, Method, object]>([
    ['a key', 'memory/fetch', { key: 'wf/10' }],
    ['a prefix', 'memory/recall', { query: 'x', key_prefix: 'wf' }],
    ['a prefix on a timeline', 'memory/timeline', { key_prefix: 'user' }],
    ['a key that is tested', 'memory/timeline', { where: { key: 'user/city' } }],
    ['one of several that are', 'memory/recall', { query: 'x', where: { key: ['wf/1', 'user'] } }],
    ['a prefix to forget', 'memory/forget', { key_prefix: 'wf' }],
    ['the key of an entry', 'memory/remember', { records: [{ content: 'x', key: 'wf/10' }] }],
    ['the key of a summary', 'memory/summarize', { tier: 'open', key: 'user/city' }],
  ])('refuse %s beyond them', async (_, method, params) => {
    await opened()
    expect(await refused(call(method, params, within(workflows)))).toMatchObject(DENIED)
  })

  test('hide what is beyond them, and a limit counts what is left', async () => {
    await opened()
    const entries = [...Array(60).keys()].map((n) => ({
      tier: 'open',
      key: `user/${n}`,
      content: `apple ${n}`,
    }))
    await remember(everything, ...entries.slice(0, 30))
    await remember(everything, { tier: 'open', key: 'wf/1', content: 'apple pie' })
    await remember(everything, ...entries.slice(30))
    await remember(
      everything,
      { tier: 'shelf', key: 'wf/1/x', content: 'an apple' },
      { tier: 'open', content: 'apple' },
    )
    const bounded = within(workflows)
    const keys = (records: readonly { key?: string | undefined }[]) =>
      records.map(({ key }) => key ?? 'none').toSorted()
    const { records } = await call('memory/recall', { query: 'apple', limit: 3 }, bounded)
    expect(keys(records)).toEqual(['none', 'wf/1', 'wf/1/x'])
    const { records: newest } = await call('memory/timeline', { limit: 3 }, bounded)
    expect(keys(newest)).toEqual(['none', 'wf/1', 'wf/1/x'])
    const { tiers } = await call('memory/describe', {}, bounded)
    expect(tiers?.map(({ name, count }) => [name, count])).toEqual([
      ['secret', 0],
      ['open', 2],
      ['shelf', 1],
    ])
  })

  test('do not count what they hide as used', async () => {
    await opened()
    await remember(
      everything,
      { tier: 'open', key: 'user', content: 'apple' },
      { tier: 'open', content: 'apple tree' },
    )
    const bounded = within({ ...workflows, tiers: new Set(['open']) })
    expect(
      (await call('memory/recall', { query: 'apple', limit: 1 }, bounded)).records,
    ).toHaveLength(1)
    await call('memory/promote', { ids: ['nobody'], tier: 'shelf' })
    const { records } = await call('memory/timeline', { tier: 'open' })
    expect(records.map(({ key, access_count = 0 }) => [key, access_count])).toEqual([
      ['user', 0],
      [undefined, 1],
    ])
  })
})

describe('the order of refusals', () => {
  async function codeOf(method: string, params: unknown, context: () => Context): Promise<unknown> {
    const { federation } = await opened()
    const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    return (await serve(text, federation, context())).error?.code
  }

  test.each<[string, unknown, Partial<Grant>[], number | undefined]>([
    ['memory/remember', { nonsense: true }, [{ access: 'read' }], CODES.READ_ONLY],
    ['memory/summarize', {}, [{ access: 'read' }], CODES.READ_ONLY],
    [
      'memory/forget',
      { tier: 'nowhere' },
      [{ access: 'read' }, { access: 'read', tiers: new Set(['open']) }],
      CODES.READ_ONLY,
    ],
    ['memory/recall', { query: 'x' }, [{ access: 'read' }], undefined],
    [
      'memory/forget',
      { nonsense: true },
      [{ methods: new Set(['memory/recall']) }],
      CODES.SCOPE_DENIED,
    ],
    ['memory/remember', { records: [] }, [{}], CODES.INVALID_PARAMS],
    ['memory/remember', { records: [] }, [], CODES.SCOPE_DENIED],
    ['memory/events', {}, [], CODES.SCOPE_DENIED],
    ['memory/describe', {}, [], undefined],
    ['memory/nothing', {}, [], CODES.METHOD_NOT_FOUND],
  ])('%s %j', async (method, params, grants, expected) => {
    expect(await codeOf(method, params, within(...grants))).toBe(expected)
  })

  test('a caller none of whose roles is defined finds an empty memory', async () => {
    await opened()
    await remember(everything, { tier: 'open' })
    expect((await call('memory/describe', {}, within())).tiers).toEqual([])
    expect(await refused(call('memory/recall', { query: 'x' }, within()))).toMatchObject(DENIED)
  })
})

describe('events', () => {
  test('are of what the caller can recall; of what cannot be told apart there is none', async () => {
    await opened()
    const { cursor } = await call('memory/events')
    const bounded = within({ tiers: new Set(['open', 'shelf']), keyPrefixes: ['wf'] })
    const ids = await remember(
      everything,
      { tier: 'open', content: 'seen' },
      { tier: 'open', key: 'user/city' },
      { tier: 'secret' },
      { tier: 'open', key: 'wf/1' },
    )
    await call('memory/promote', { ids: [ids[2], ids[3]], tier: 'shelf' })
    await call('memory/promote', { ids: [ids[0]], tier: 'secret' })
    await call('memory/forget', { ids: [ids[0], ids[1], ids[3]] })
    await call('memory/consolidate')
    const { events } = await call('memory/events', { cursor }, bounded)
    expect(events.map(({ kind, id, ids: several }) => [kind, id ?? several])).toEqual([
      ['written', ids[0]],
      ['written', ids[3]],
      ['promoted', expect.toSatisfy((told) => told.length === 2 && !told.includes(ids[0]))],
      ['forgotten', [ids[3]]],
      ['consolidated', undefined],
    ])
    expect(events[3]).toMatchObject({ count: 1 })
    const { events: all } = await call('memory/events', { cursor, kinds: ['forgotten'] })
    expect(all).toMatchObject([{ count: 3 }])
  })

  test('of a session are told to who sees something of it; its counts to who sees all of it', async () => {
    await opened()
    const { cursor } = await call('memory/events')
    await remember(
      everything,
      { tier: 'open', session: 'monday' },
      { tier: 'secret', session: 'monday' },
    )
    await call('memory/session/close', { session: 'monday' })
    const kinds = async (context: () => Context) => {
      const { events } = await call(
        'memory/events',
        { cursor, kinds: ['consolidated', 'session_closed'] },
        context,
      )
      return events.map(({ kind }) => kind)
    }
    expect(await kinds(everything)).toEqual(['consolidated', 'session_closed'])
    expect(await kinds(within(outOfSecret))).toEqual(['session_closed'])
    expect(await kinds(within({ tiers: new Set(['shelf']) }))).toEqual([])
  })
})

test('what is pushed is what the caller can recall', async () => {
  const { federation } = await opened()
  const served = withPush(federation, { changes: federation.changes, clock: systemClock })
  const pushed: unknown[] = []
  const connection = {
    closed: new Cancellation(),
    push: async (notification: unknown) => void pushed.push(notification),
  }
  const subscriber = { ...within(outOfSecret)(), connection }
  expect(await served.call('memory/events/subscribe', {}, subscriber)).toEqual({ subscribed: true })
  const ids = await remember(everything, { tier: 'secret' }, { tier: 'open' }, { tier: 'secret' })
  await served.flushed(connection)
  expect(pushed).toMatchObject([{ params: { kind: 'written', id: ids[1], tier: 'open' } }])
  const nobody = served.call('memory/events/subscribe', {}, { ...within()(), connection })
  expect(await refused(nobody)).toMatchObject(DENIED)
})

test('the well-known profile has no tier that some role hides', async () => {
  const { federation } = await opened()
  const grants = accessBy({}, outOfSecret) ?? []
  const roles = new Map(grants.map((one) => [one.role, one]))
  expect(federation.publicProfile(roles).tiers).toEqual([
    { name: 'open', kind: 'working', capacity: 1, count: 0 },
    { name: 'shelf', kind: 'semantic', capacity: 0, count: 0 },
  ])
  expect(federation.publicProfile().tiers).toHaveLength(3)
})
