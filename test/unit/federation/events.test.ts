import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ConnectConfig } from '../../../src/config/config.js'
import { Fault } from '../../../src/protocol/errors.js'
import type { Context, Memory } from '../../../src/protocol/memory.js'
import type { Method, ParamsOf, ResultOf } from '../../../src/protocol/methods.js'
import { systemClock } from '../../../src/protocol/time.js'
import { openState } from '../../../src/state/state.js'
import {
  embeddedStore,
  type FederationSetup,
  openFederation,
  type TestFederation,
  temporaryFolder,
  tierConfig,
} from '../../support/federation.js'
import { anyContext, ownerContext } from '../../support/federation-contexts.js'
import { meets } from '../../support/meets.js'

const alice = () => ownerContext('alice')
const bob = () => ownerContext('bob')

let folder: ReturnType<typeof temporaryFolder>
let open: TestFederation[]
beforeEach(() => {
  folder = temporaryFolder()
  open = []
})
afterEach(async () => {
  for (const gateway of open) await gateway.close()
  folder.remove()
})

/** Says how calls of one method go wrong, or nothing where they are to go well. */
type Wrong = (method: Method, call: () => Promise<unknown>) => Promise<unknown> | undefined

function faulty(inner: Memory, wrong: Wrong): Memory {
  return {
    async call<M extends Method>(method: M, params: ParamsOf<M>, context: Context) {
      const call = () => inner.call(method, params, context)
      await wrong(method, call)
      return call()
    },
    close: () => inner.close(),
  }
}

/** `hot`, which holds two records an owner and spills, over `cold`; on files, so that it can be opened again. */
const ELSEWHERE = {
  kind: 'http',
  url: 'http://127.0.0.1/',
  bearer: undefined,
  connections: 1,
} as const

/** `connect` is how its upstreams are said to be reached. */
async function gateway(
  wrong: Wrong = () => undefined,
  { connect, ...over }: Partial<FederationSetup> & { readonly connect?: ConnectConfig } = {},
) {
  const reached = connect === undefined ? {} : { connect }
  const file = (name: string) => join(folder.path, name)
  const hot = embeddedStore({ path: file('hot.db'), tiers: ['hot'] })
  const opened = await openFederation({
    upstreams: {
      hot: { memory: faulty(hot, wrong), config: { retries: 0, access: 'read-write', ...reached } },
      cold: { memory: embeddedStore({ path: file('cold.db'), tiers: ['cold'] }), config: reached },
    },
    tiers: [
      tierConfig('hot', 'hot', { kind: 'working', capacity: 2, spillTo: 'cold' }),
      tierConfig('cold', 'cold'),
    ],
    state: openState({ path: file('gateway.db'), durability: 'normal' }),
    ...over,
  })
  open.push(opened)
  return opened
}

async function closed(opened: TestFederation) {
  open.splice(open.indexOf(opened), 1)
  await opened.close()
}

const poll = (
  { federation }: TestFederation,
  context: Context,
  params: ParamsOf<'memory/events'>,
) => federation.call('memory/events', params, context)

const start = async (opened: TestFederation, context: Context) =>
  (await poll(opened, context, {})).cursor

/** Behind a cursor; ids in no order that anybody promises. */
const told = async (opened: TestFederation, context: Context, cursor: string) =>
  (await poll(opened, context, { cursor })).events.map(({ at: _, ...event }) => {
    const { ids } = event
    return Array.isArray(ids) ? { ...event, ids: ids.toSorted() } : event
  })

const write = (
  { federation }: TestFederation,
  context: Context,
  records: ParamsOf<'memory/remember'>['records'],
) => federation.call('memory/remember', { records }, context)

const four = (prefix: string) =>
  ['1', '2', '3', '4'].map((n) => ({ id: `${prefix}${n}`, content: `note ${n}` }))

test(`every write is told as what it was, to those alone whose records it is about ${meets('4.12/scoped', '4.12/event')}`, async () => {
  const opened = await gateway()
  const { federation } = opened
  const [a, b, all] = await Promise.all(
    [alice(), bob(), anyContext()].map((context) => start(opened, context)),
  )
  await write(opened, alice(), [
    { id: 'a1', content: 'x' },
    { id: 'a2', content: 'x', tier: 'cold' },
  ])
  await write(opened, bob(), [{ id: 'b1', content: 'x' }])
  await federation.call('memory/promote', { ids: ['a1', 'none'], tier: 'cold' }, alice())
  await federation.call('memory/forget', { ids: ['a1', 'a2', 'b1'] }, alice())
  const ofAlice = [
    { kind: 'written', id: 'a1', tier: 'hot' },
    { kind: 'written', id: 'a2', tier: 'cold' },
    { kind: 'promoted', ids: ['a1'], tier: 'cold' },
    { kind: 'forgotten', count: 2, ids: ['a1', 'a2'] },
  ]
  const ofBob = [{ kind: 'written', id: 'b1', tier: 'hot' }]
  expect(await told(opened, alice(), a ?? '')).toEqual(ofAlice)
  expect(await told(opened, bob(), b ?? '')).toEqual(ofBob)
  const everything = await told(opened, anyContext(), all ?? '')
  expect(everything).toHaveLength(5)
  expect(everything).toEqual(expect.arrayContaining([...ofAlice, ...ofBob]))
  const [first = ''] = [a]
  const named = await poll(opened, anyContext(), { cursor: first, owner: 'bob' })
  expect(named.events).toMatchObject(ofBob)
  await expect(poll(opened, bob(), { cursor: first, owner: 'alice' })).rejects.toMatchObject({
    code: -32005,
  })
})

test('what changes nothing is not told, but for a consolidate, which is always one event', async () => {
  const opened = await gateway()
  const { federation } = opened
  const cursor = await start(opened, alice())
  await federation.call('memory/forget', { ids: ['none'] }, alice())
  await federation.call('memory/promote', { ids: ['none'], tier: 'cold' }, alice())
  expect(await told(opened, alice(), cursor)).toEqual([])
  await federation.call('memory/consolidate', {}, alice())
  const nothing = { moved: 0, promoted: 0, dropped: 0, summarized: 0 }
  expect(await told(opened, alice(), cursor)).toEqual([{ kind: 'consolidated', ...nothing }])
  expect(await told(opened, bob(), cursor)).toEqual([])
  await federation.call('memory/consolidate', {}, anyContext())
  expect(await told(opened, alice(), cursor)).toHaveLength(1)
  expect(await told(opened, anyContext(), cursor)).toHaveLength(2)
})

test(`a consolidate of everybody is one event, in which each owner sees its own counts ${meets('4.12/coalesced')}`, async () => {
  const opened = await gateway()
  await write(opened, alice(), four('a'))
  await write(opened, bob(), four('b').slice(0, 3))
  const cursor = await start(opened, alice())
  const result = await opened.federation.call('memory/consolidate', {}, anyContext())
  expect(result.moved).toBe(3)
  const moved = async (context: Context) =>
    (await told(opened, context, cursor)).map((event) => [event.kind, event['moved']])
  expect(await moved(anyContext())).toEqual([['consolidated', 3]])
  expect(await moved(alice())).toEqual([['consolidated', 2]])
  expect(await moved(bob())).toEqual([['consolidated', 1]])
})

test('a write that is tried again under its id is told once', async () => {
  const opened = await gateway()
  const cursor = await start(opened, alice())
  const twice = [
    { id: 'a', content: 'x' },
    { id: 'a', content: 'x' },
  ]
  await write(opened, alice(), twice)
  await write(opened, alice(), twice)
  expect(await told(opened, alice(), cursor)).toEqual([{ kind: 'written', id: 'a', tier: 'hot' }])
})

test('cursors and events outlive a restart', async () => {
  const before = await gateway()
  const cursor = await start(before, alice())
  await write(before, alice(), [{ id: 'a', content: 'x' }])
  const middle = await start(before, alice())
  await closed(before)
  const after = await gateway()
  await write(after, alice(), [{ id: 'b', content: 'x' }])
  expect((await told(after, alice(), cursor)).map(({ id }) => id)).toEqual(['a', 'b'])
  expect((await told(after, alice(), middle)).map(({ id }) => id)).toEqual(['b'])
})

test(`beyond what is kept a cursor is reset ${meets('4.12/reset')}`, async () => {
  const opened = await gateway(undefined, { log: { keep: 2 } })
  const cursor = await start(opened, alice())
  await write(opened, alice(), four('a'))
  const page = await poll(opened, alice(), { cursor })
  expect(page.events.map(({ id }) => id)).toEqual(['a3', 'a4'])
  expect(page.reset).toBe(true)
  const garbage = poll(opened, alice(), { cursor: 'garbage' })
  await expect(garbage).rejects.toMatchObject({ code: -32602 })
})

/** Calls of one method are carried out or not, and the answer is lost. */
const lost =
  (name: Method, done: boolean): Wrong =>
  async (method, call) => {
    if (method !== name) return
    if (done) await call()
    throw new Fault('cut', 'the answer was lost')
  }

test('a write whose answer was lost is told once it has been found, and only then', async () => {
  const broken = await gateway(lost('memory/remember', true))
  const cursor = await start(broken, alice())
  await expect(write(broken, alice(), [{ id: 'a', content: 'x' }])).rejects.toThrow()
  expect(await told(broken, alice(), cursor)).toEqual([])
  await closed(broken)
  const mended = await gateway()
  expect(await told(mended, alice(), cursor)).toEqual([{ kind: 'written', id: 'a', tier: 'hot' }])
  await write(mended, alice(), [{ id: 'a', content: 'x' }])
  expect(await told(mended, alice(), cursor)).toHaveLength(1)
})

test('a write that never came through is not told, nor twice when it is tried again', async () => {
  const broken = await gateway(lost('memory/remember', false))
  const cursor = await start(broken, alice())
  await expect(write(broken, alice(), [{ id: 'a', content: 'x' }])).rejects.toThrow()
  await closed(broken)
  const mended = await gateway()
  expect(await told(mended, alice(), cursor)).toEqual([])
  await write(mended, alice(), [{ id: 'a', content: 'x' }])
  await closed(mended)
  const again = await gateway()
  expect(await told(again, alice(), cursor)).toEqual([{ kind: 'written', id: 'a', tier: 'hot' }])
})

function intentsLeft(): unknown {
  const database = new Database(join(folder.path, 'gateway.db'))
  const count = database.prepare('SELECT count(*) FROM intents').pluck().get()
  database.close()
  return count
}

test('what has not come through at an upstream elsewhere within a minute is given up', async () => {
  const connect = ELSEWHERE
  const broken = await gateway(lost('memory/remember', false), { connect })
  await expect(write(broken, alice(), [{ id: 'a', content: 'x' }])).rejects.toThrow()
  await closed(broken)
  expect(intentsLeft()).toBe(1)
  await closed(await gateway(undefined, { connect }))
  expect(intentsLeft()).toBe(1)
  const later = { ...systemClock, now: () => Date.now() + 61_000 }
  await closed(await gateway(undefined, { connect, clock: later }))
  expect(intentsLeft()).toBe(0)
})

test('what stores that ended with the gateway have not done is given up at its next start', async () => {
  const broken = await gateway(lost('memory/remember', false))
  await expect(write(broken, alice(), [{ id: 'a', content: 'x' }])).rejects.toThrow()
  await closed(broken)
  expect(intentsLeft()).toBe(1)
  const later = { ...systemClock, now: () => Date.now() + 1_000 }
  await closed(await gateway(undefined, { clock: later }))
  expect(intentsLeft()).toBe(0)
})

test('of a forget over two stores that one has not done, what the other has done is told', async () => {
  let lose = false
  const wrong: Wrong = (method, call) =>
    lose ? lost('memory/forget', false)(method, call) : undefined
  const broken = await gateway(wrong)
  await write(broken, alice(), [
    { id: 'kept', content: 'x', tier: 'hot' },
    { id: 'gone', content: 'x', tier: 'cold' },
  ])
  const cursor = await start(broken, alice())
  lose = true
  const forgetting = broken.federation.call('memory/forget', { ids: ['kept', 'gone'] }, alice())
  await expect(forgetting).rejects.toThrow()
  await closed(broken)
  const later = { ...systemClock, now: () => Date.now() + 1_000 }
  const mended = await gateway(undefined, { clock: later })
  expect(await told(mended, alice(), cursor)).toEqual([
    { kind: 'forgotten', count: 1, ids: ['gone'] },
  ])
})

test('a forget whose answer was lost is told with what is gone', async () => {
  let lose = false
  const wrong: Wrong = (method, call) =>
    lose ? lost('memory/forget', true)(method, call) : undefined
  const broken = await gateway(wrong)
  await write(broken, alice(), four('a'))
  const cursor = await start(broken, alice())
  lose = true
  const forgetting = broken.federation.call('memory/forget', { ids: ['a1', 'a2'] }, alice())
  await expect(forgetting).rejects.toThrow()
  expect(await told(broken, alice(), cursor)).toEqual([])
  await closed(broken)
  const mended = await gateway()
  expect(await told(mended, alice(), cursor)).toEqual([
    { kind: 'forgotten', count: 2, ids: ['a1', 'a2'] },
  ])
})

test('a write that was refused leaves nothing to be told', async () => {
  const opened = await gateway(async (method) => {
    if (method === 'memory/remember') throw new Fault('unreachable', 'not there')
  })
  const cursor = await start(opened, alice())
  await expect(write(opened, alice(), [{ content: 'x' }])).rejects.toThrow()
  await closed(opened)
  const mended = await gateway()
  expect(mended.unfinished).toEqual([])
  expect(await told(mended, alice(), cursor)).toEqual([])
})

type Polled = ResultOf<'memory/events'>

test(`pollers of both owners see their own events, once, while both write at once ${meets('4.12/exactly-once', '4.12/scoped')}`, async () => {
  const opened = await gateway()
  const seen = new Map<string, unknown[]>()
  const watch = async (owner: string) => {
    const context = ownerContext(owner)
    let cursor = await start(opened, context)
    const events: unknown[] = []
    seen.set(owner, events)
    for (let n = 0; n < 40; n++) {
      const page: Polled = await poll(opened, context, { cursor, limit: 2 })
      events.push(...page.events.map(({ id }) => id))
      cursor = page.cursor
    }
  }
  const writing = async (owner: string) => {
    for (let n = 0; n < 20; n++) {
      await write(opened, ownerContext(owner), [{ id: `${owner}${n}`, content: 'x' }])
    }
  }
  await Promise.all(['alice', 'bob'].flatMap((owner) => [watch(owner), writing(owner)]))
  for (const [owner, events] of seen) {
    const all = Array.from({ length: 20 }, (_, n) => `${owner}${n}`)
    expect(events).toEqual(all.slice(0, events.length))
    expect(events.length).toBeGreaterThan(0)
  }
})
