import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { A2mError } from '../../../src/protocol/errors.js'
import type { Context, Memory } from '../../../src/protocol/memory.js'
import type { Method, ParamsOf, ResultOf } from '../../../src/protocol/methods.js'
import { openState } from '../../../src/state/state.js'
import {
  embeddedStore,
  openFederation,
  type TestFederation,
  temporaryFolder,
  tierConfig,
} from '../../support/federation.js'
import { anyContext, ownerContext } from '../../support/federation-contexts.js'
import { until } from '../../support/waiting.js'

const alice = () => ownerContext('alice')
const bob = () => ownerContext('bob')
const HTTP = { kind: 'http', url: 'http://127.0.0.1/', bearer: undefined, connections: 1 } as const

type Events = ResultOf<'memory/events'>
/** Changes what a page of events says, or throws in its place. */
type Lie = (page: Events, params: ParamsOf<'memory/events'>) => Events

let folder: ReturnType<typeof temporaryFolder>
let stores: Memory[]
let lie: Lie
let polls: number
let open: TestFederation | undefined

beforeEach(() => {
  folder = temporaryFolder()
  stores = ['one', 'two'].map((name) =>
    embeddedStore({ path: join(folder.path, `${name}.db`), tiers: [name], events: { keep: 100 } }),
  )
  lie = (page) => page
  polls = 0
})
afterEach(async () => {
  await open?.close()
  folder.remove()
})

/** The store lives on when the gateway closes, as one elsewhere would. */
function elsewhere(inner: Memory): Memory {
  return {
    async call<M extends Method>(method: M, params: ParamsOf<M>, context: Context) {
      const result = await inner.call(method, params, context)
      if (!isPage(method, result)) return result
      polls++
      return Object.assign({}, result, lie(result, params as ParamsOf<'memory/events'>))
    },
    close: async () => {},
  }
}

function isPage(method: Method, result: object): result is Events {
  return method === 'memory/events' && 'cursor' in result
}

async function gateway(): Promise<TestFederation> {
  const [one, two] = stores
  if (one === undefined || two === undefined) throw new Error('no stores')
  open = await openFederation({
    upstreams: {
      one: { memory: elsewhere(one), config: { connect: HTTP } },
      two: { memory: elsewhere(two), config: { connect: HTTP } },
    },
    tiers: [tierConfig('one', 'one'), tierConfig('two', 'two')],
    state: openState({ path: join(folder.path, 'gateway.db'), durability: 'normal' }),
    log: { tail: { interval: 1 } },
  })
  return open
}

/** Two turns later everything that had happened has been read. */
async function readOn(): Promise<void> {
  const before = polls
  await until(() => polls >= before + 5)
}

const elsewhereWrites = (
  store: number,
  owner: string,
  id: string,
  over: { readonly key?: string; readonly content?: string } = {},
) =>
  stores[store]?.call(
    'memory/remember',
    { records: [{ id, content: 'from elsewhere', owner, ...over }] },
    anyContext(),
  )

const told = async (opened: TestFederation, context: Context, cursor: string) =>
  (await opened.federation.call('memory/events', { cursor }, context)).events.map(
    ({ at: _, ...event }) => event,
  )

const start = async (opened: TestFederation) =>
  (await opened.federation.call('memory/events', {}, alice())).cursor

test('what others write is told once, to its owner; our own writes and moves are not told again', async () => {
  const opened = await gateway()
  await readOn()
  const cursor = await start(opened)
  await elsewhereWrites(0, 'alice', 'theirs')
  await elsewhereWrites(1, 'bob', 'of-bob')
  const ours = [{ id: 'ours', content: 'x' }]
  await opened.federation.call('memory/remember', { records: ours }, alice())
  await opened.federation.call('memory/promote', { ids: ['ours'], tier: 'two' }, alice())
  await elsewhereWrites(1, 'alice', 'last')
  await until(async () => (await told(opened, alice(), cursor)).length >= 4)
  await readOn()
  const ofAlice = await told(opened, alice(), cursor)
  expect(ofAlice).toHaveLength(4)
  expect(ofAlice).toEqual(
    expect.arrayContaining([
      { kind: 'written', id: 'theirs', tier: 'one' },
      { kind: 'written', id: 'ours', tier: 'one' },
      { kind: 'promoted', ids: ['ours'], tier: 'two' },
      { kind: 'written', id: 'last', tier: 'two' },
    ]),
  )
  expect(await told(opened, bob(), cursor)).toEqual([
    { kind: 'written', id: 'of-bob', tier: 'two' },
  ])
})

test('rewrites under a key are told apart from our own', async () => {
  const opened = await gateway()
  await readOn()
  const cursor = await start(opened)
  const mine = (content: string) =>
    opened.federation.call('memory/remember', { records: [{ content, key: 'k' }] }, alice())
  await mine('first')
  await readOn()
  await elsewhereWrites(0, 'alice', 'another', { key: 'k', content: 'second' })
  await until(async () => (await told(opened, alice(), cursor)).length >= 2)
  await mine('third')
  await readOn()
  await elsewhereWrites(0, 'alice', 'last')
  await until(async () => (await told(opened, alice(), cursor)).at(-1)?.['id'] === 'last')
  const events = (await told(opened, alice(), cursor)).slice(0, -1)
  expect(events.map(({ key, revision }) => [key, revision])).toEqual([
    ['k', 0],
    ['k', 1],
    ['k', 2],
  ])
})

test('what was written while the gateway was away is told when it is back', async () => {
  const before = await gateway()
  await readOn()
  const cursor = await start(before)
  await before.close()
  open = undefined
  await elsewhereWrites(0, 'alice', 'meanwhile')
  const after = await gateway()
  await until(async () => (await told(after, alice(), cursor)).length > 0)
  await readOn()
  expect(await told(after, alice(), cursor)).toEqual([
    { kind: 'written', id: 'meanwhile', tier: 'one' },
  ])
})

test('a gap at the upstream is told to people, and reading goes on', async () => {
  const before = await gateway()
  await readOn()
  await before.close()
  open = undefined
  for (let n = 0; n < 150; n++) await elsewhereWrites(0, 'alice', `gone${n}`)
  const after = await gateway()
  const cursor = await start(after)
  await until(() => after.tailed.length > 0)
  await readOn()
  await elsewhereWrites(0, 'alice', 'next')
  await until(async () => {
    const { events } = await after.federation.call('memory/events', { cursor, limit: 0 }, alice())
    return events.at(-1)?.['id'] === 'next'
  })
  expect(after.tailed).toEqual([['one', expect.stringContaining('dropped events')]])
})

test.each<[string, Lie]>([
  [
    'gives the same page again and again',
    (page, { cursor }) => ({ ...page, cursor: cursor ?? '' }),
  ],
  [
    'repeats its events under new cursors',
    ({ cursor }) => ({
      events: [{ kind: 'written', id: 'known', at: '2026-01-01T00:00:00.000Z' }],
      cursor,
      more: true,
    }),
  ],
  ['gives no cursor', (page) => Object.assign({}, page, { cursor: undefined })],
  [
    'tells of records that are not there, of none, and of other kinds',
    (page) => ({
      ...page,
      events: [
        { kind: 'written', id: 'nowhere', at: 'x' },
        { kind: 'written', at: 'x' },
        { kind: 'written', id: 7, at: 'x' },
        { kind: 'invented', at: 'x' },
        { kind: 'forgotten', count: 3, ids: ['known'], at: 'x' },
      ],
    }),
  ],
  [
    'refuses its own cursors',
    (page, { cursor }) => {
      if (cursor === undefined) return page
      throw new A2mError('INVALID_PARAMS', 'never seen')
    },
  ],
  [
    'always fails',
    () => {
      throw new A2mError('INTERNAL_ERROR', 'not today')
    },
  ],
])('an upstream that %s is contained', async (_, wrong) => {
  const opened = await gateway()
  await readOn()
  await elsewhereWrites(1, 'alice', 'known')
  await readOn()
  const cursor = await start(opened)
  let lies = 0
  lie = (page, params) => {
    if (polls % 2 === 0) return page
    lies++
    return wrong(page, params)
  }
  await until(() => lies > 20)
  const records = [{ id: 'ours', content: 'x' }]
  await opened.federation.call('memory/remember', { records }, alice())
  const events = await told(opened, alice(), cursor)
  const ours = events.filter(({ id }) => id === 'ours')
  expect(ours).toHaveLength(1)
  expect(events.filter(({ id }) => id === 'known').length).toBeLessThanOrEqual(1)
  expect(events.filter(({ id }) => id !== 'ours' && id !== 'known')).toEqual([])
})
