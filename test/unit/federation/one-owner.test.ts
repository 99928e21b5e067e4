import { readdirSync, readFileSync } from 'node:fs'
import { afterEach, describe, expect, test } from 'vitest'
import type { UpstreamConfig } from '../../../src/config/config.js'
import { A2mError } from '../../../src/protocol/errors.js'
import type { Context, Memory } from '../../../src/protocol/memory.js'
import type { Method } from '../../../src/protocol/methods.js'
import { ownerOf } from '../../../src/protocol/scope.js'
import {
  embeddedStore,
  openFederation,
  type TestFederation,
  tierConfig,
} from '../../support/federation.js'
import { anyContext, contextOf, ownerContext } from '../../support/federation-contexts.js'
import { until } from '../../support/waiting.js'

/** What was asked of an upstream by the federation, and whom it was for. */
interface Asked {
  readonly method: Method
  readonly owner: Context['owner']
  readonly params: unknown
}

let opened: TestFederation | undefined
afterEach(async () => {
  await opened?.close()
  opened = undefined
})

/** Notes what has an owner to be for, or was to have one: all that is no reading of what the upstream is. */
function watched(inner: Memory): { readonly memory: Memory; readonly asked: Asked[] } {
  const asked: Asked[] = []
  const memory: Memory = {
    call(method, params, context) {
      if (Object.hasOwn(context, 'owner')) asked.push({ method, owner: context.owner, params })
      return inner.call(method, params, context)
    },
    close: () => inner.close(),
  }
  return { memory, asked }
}

const connect = (bearer?: string): UpstreamConfig['connect'] => ({
  ...{ kind: 'http', url: 'http://127.0.0.1/', bearer, connections: 8 },
})

/** A store here, and one that goes by tokens, with or without a credential for everybody. */
async function open(bearer?: string, log: object = {}) {
  const desk = watched(embeddedStore({ path: ':memory:', tiers: ['working'] }))
  const vault = watched(
    embeddedStore({ path: ':memory:', tiers: ['episodic'], events: { keep: 100 } }),
  )
  opened = await openFederation({
    upstreams: {
      desk: { memory: desk.memory },
      vault: { memory: vault.memory, config: { owner: 'token', connect: connect(bearer) } },
    },
    tiers: [
      tierConfig('working', 'desk', { spillTo: 'episodic', capacity: 1 }),
      tierConfig('episodic', 'vault', { promoteTo: 'working' }),
    ],
    log,
  })
  const { federation } = opened
  return { desk, vault, federation, tailed: opened.tailed }
}

const record = (content: string, owner?: string) => ({ content, tier: 'episodic', owner })
const codeOf = (task: Promise<unknown>): Promise<number | undefined> =>
  task.then(
    () => undefined,
    (thrown) => (thrown instanceof A2mError ? thrown.code : Number.NaN),
  )

describe('an upstream that is asked for one owner at a time', () => {
  test('hears of one owner in every ask, whatever the method', async () => {
    const { federation, vault } = await open()
    const context = ownerContext('anna')
    const entries = [
      { content: 'one', key: 'k', session: 's' },
      { content: 'two', session: 's', tier: 'episodic' },
    ]
    const { ids } = await federation.call('memory/remember', { records: entries }, context)
    for (const [method, params] of [
      ['memory/describe', {}],
      ['memory/recall', { query: 'one' }],
      ['memory/timeline', {}],
      ['memory/fetch', { key: 'k' }],
      ['memory/session/list', {}],
      ['memory/promote', { ids, tier: 'episodic' }],
      ['memory/reinforce', { ids }],
      ['memory/session/close', { session: 's' }],
      ['memory/consolidate', {}],
      ['memory/summarize', { tier: 'episodic' }],
      ['memory/forget', { ids }],
    ] as const) {
      const before = vault.asked.length
      await federation.call(method, params as never, context)
      expect(vault.asked.length, method).toBeGreaterThan(before)
    }
    expect(new Set(vault.asked.map(({ owner }) => owner))).toEqual(new Set(['anna']))
  })

  test('gets a batch of several owners in as many writes, each for one', async () => {
    const { federation, vault } = await open()
    const records = ['anna', 'ben', 'anna'].map((owner, at) => record(`${owner} ${at}`, owner))
    const { ids } = await federation.call('memory/remember', { records }, anyContext())
    expect(ids).toHaveLength(3)
    const writes = vault.asked.filter(({ method }) => method === 'memory/remember')
    expect(writes.map(({ owner }) => owner)).toEqual(['anna', 'ben'])
    for (const { owner, params } of writes) {
      const { records: sent } = params as { records: { owner?: string }[] }
      expect(new Set(sent.map((one) => one.owner))).toEqual(new Set([owner]))
    }
  })

  test('is missing from what is read for everybody, and the gap is told', async () => {
    const { federation, vault } = await open()
    const records = [record('hers', 'anna'), { content: 'at the desk', tier: 'working' }]
    await federation.call('memory/remember', { records }, anyContext())
    const before = vault.asked.length
    const read = await federation.call('memory/timeline', {}, anyContext())
    expect(read.records.map(({ content }) => content)).toEqual(['at the desk'])
    expect(read.federation).toMatchObject({
      partial: true,
      upstreams: { vault: { reason: 'it is asked for one owner at a time, and none was named' } },
    })
    const named = await federation.call('memory/timeline', { owner: 'anna' }, anyContext())
    expect(named.federation?.partial).toBe(false)
    expect(vault.asked.slice(before).map(({ owner }) => owner)).toEqual(['anna'])
  })

  test('has no count for everybody, and says so', async () => {
    const { federation } = await open()
    await federation.call('memory/remember', { records: [record('hers', 'anna')] }, anyContext())
    const counts = async (context: Context) =>
      (await federation.call('memory/describe', {}, context)).tiers?.map(({ count, stale }) => [
        count,
        stale,
      ])
    expect(await counts(anyContext())).toEqual([
      [0, undefined],
      [0, true],
    ])
    expect(await counts(ownerContext('anna'))).toEqual([
      [0, undefined],
      [1, undefined],
    ])
  })

  test('changes nothing for everybody, and says that an owner has to be named', async () => {
    const { federation, vault } = await open()
    const [entry] = [record('hers', 'anna')]
    const { ids } = await federation.call('memory/remember', { records: [entry] }, anyContext())
    const before = vault.asked.length
    const calls = [
      federation.call('memory/forget', { ids }, anyContext()),
      federation.call('memory/promote', { ids, tier: 'working' }, anyContext()),
      federation.call('memory/reinforce', { ids }, anyContext()),
    ]
    expect(await Promise.all(calls.map(codeOf))).toEqual(calls.map(() => -32602))
    const fetching = federation.call('memory/fetch', { key: 'k' }, anyContext())
    expect(await codeOf(fetching)).toBe(-32603)
    expect(vault.asked.length).toBe(before)
  })

  test('keeps no record without an owner, and is asked for none', async () => {
    const { federation, vault } = await open()
    const context = contextOf({ kind: 'ownerless' })
    const before = vault.asked.length
    const writing = federation.call('memory/remember', { records: [record('nobody’s')] }, context)
    await expect(writing).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('records[0].owner: name one'),
    })
    const { ids } = await federation.call(
      'memory/remember',
      { records: [{ content: 'x' }] },
      context,
    )
    const moving = federation.call('memory/promote', { ids, tier: 'episodic' }, context)
    expect(await codeOf(moving)).toBe(-32602)
    const read = await federation.call('memory/timeline', {}, context)
    expect(read.records).toHaveLength(1)
    expect(read.federation).toMatchObject({
      partial: false,
      upstreams: { vault: { state: 'skipped', reason: 'it keeps records of owners alone' } },
    })
    expect((await federation.call('memory/fetch', { key: 'k' }, context)).record).toBeNull()
    expect(vault.asked.length).toBe(before)
  })

  test('is not read for events of everybody, and that is told once', async () => {
    const { vault, tailed } = await open(undefined, { tail: { interval: 10 } })
    await until(() => tailed.length > 0)
    expect(tailed).toEqual([
      ['vault', 'its events are everybody’s, and it is asked for one owner at a time'],
    ])
    expect(vault.asked.filter(({ method }) => method === 'memory/events')).toEqual([])
  })
})

describe('with a credential for everybody besides', () => {
  test('it is asked for everybody and for nobody, and for owners one by one', async () => {
    const { federation, vault } = await open('key')
    const records = [record('hers', 'anna'), record('his', 'ben'), record('nobody’s')]
    await federation.call('memory/remember', { records }, anyContext())
    const writes = vault.asked.filter(({ method }) => method === 'memory/remember')
    expect(writes.map(({ owner }) => owner)).toEqual(['anna', 'ben', null])
    const read = await federation.call('memory/timeline', {}, anyContext())
    expect(read.records).toHaveLength(3)
    expect(vault.asked.at(-1)?.owner).toBeUndefined()
    for (const { owner, params } of vault.asked) {
      if (typeof owner === 'string') expect([undefined, owner]).toContain(ownerOf(params as object))
    }
  })

  test('its events are read', async () => {
    const { vault } = await open('key', { tail: { interval: 10 } })
    await until(() => vault.asked.some(({ method }) => method === 'memory/events'))
  })
})

/** `veiled.ts` stands around a memory and hands the context on. */
test('only one function of the federation asks upstreams', () => {
  const folder = new URL('../../../src/federation/', import.meta.url)
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const asking = files
    .filter((name) => name.endsWith('.ts'))
    .filter((name) => readFileSync(new URL(name, folder), 'utf8').includes('memory.call('))
  expect(asking.sort()).toEqual(['access/veiled.ts', 'fan-out.ts'])
})
