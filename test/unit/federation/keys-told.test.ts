import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { A2mError, Fault } from '../../../src/protocol/errors.js'
import { EXTENSION } from '../../../src/protocol/extension.js'
import { openState } from '../../../src/state/state.js'
import {
  embeddedStore,
  type TestFederation,
  temporaryFolder,
  tierConfig,
} from '../../support/federation.js'
import { anyContext, gatewayContext, ownerContext } from '../../support/federation-contexts.js'
import { Between, caller, errorOf, failing, keyedMemory, overTiers } from '../../support/keyed.js'
import { PlainMemory } from '../../support/plain-memory.js'

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

const store = (name: string) =>
  embeddedStore({ path: join(folder.path, `${name}.db`), tiers: [name] })

async function twoStores() {
  fixture = await overTiers({ a: { memory: store('a') }, b: { memory: store('b') } })
  return caller(fixture)
}

/** What the event log has after a cursor, and where it stands then. */
async function events(since?: string) {
  if (fixture === undefined) throw new Error('no federation')
  const params = since === undefined ? {} : { cursor: since }
  return fixture.federation.call('memory/events', params, anyContext())
}

describe('keys of any shape: they are opaque, and only an empty one is refused', () => {
  test.each([
    ['of 10,000 characters', 'k'.repeat(10_000)],
    ['with dots', '../../etc/passwd'],
    ['of dots alone', '..'],
    ['with spaces', ' a  b '],
    ['with a NUL', 'a\u0000b'],
    ['with a slash at its end', 'a/'],
    ['of a slash alone', '/'],
    ['with an empty part', 'a//b'],
    ['with wildcards', 'a%_*b'],
    ['of other scripts', '東京/🗼'],
    ['that looks like a name of every object', '__proto__'],
  ])('%s', async (_, key) => {
    const { remember, fetch, timeline } = await twoStores()
    const [id] = await remember({ key, content: 'x', tier: 'b' })
    expect(await remember({ key, content: 'y' })).toEqual([id])
    expect(await fetch(key)).toMatchObject({ id, key, content: 'y', revision: 1 })
    expect(await fetch(`${key}x`)).toBeNull()
    expect(await timeline({ key_prefix: key })).toHaveLength(1)
    expect(await timeline({ where: { key } })).toHaveLength(1)
  })

  test('a slash at the end is part of the key', async () => {
    const { remember, fetch } = await twoStores()
    await remember({ key: 'a', content: 'without' }, { key: 'a/', content: 'with', tier: 'b' })
    expect(await fetch('a')).toMatchObject({ content: 'without', revision: 0 })
    expect(await fetch('a/')).toMatchObject({ content: 'with', revision: 0 })
  })

  test('an empty one, none and another type are refused', async () => {
    const { remember, fetch } = await twoStores()
    for (const key of ['', 7, ['k'], {}]) {
      expect(await errorOf(remember({ key, content: 'x' }))).toMatchObject({ code: -32602 })
      expect(await errorOf(fetch(key as string))).toMatchObject({ code: -32602 })
    }
    expect(await errorOf(fetch(undefined as unknown as string))).toMatchObject({ code: -32602 })
    await remember({ key: null, content: 'a key of null is none' })
  })
})

describe('what is told of writes with keys', () => {
  test('each record once, as it is in the end; ids that were there are not told', async () => {
    const { remember } = await twoStores()
    const { cursor } = await events()
    const [k] = await remember(
      { key: 'k', content: '0' },
      { id: 'x', content: 'x', tier: 'b' },
      { key: 'k', content: '1' },
    )
    await remember({ key: 'k', content: '2', tier: 'b' }, { id: 'x', content: 'again' })
    const written = (await events(cursor)).events.filter(({ kind }) => kind === 'written')
    expect(written).toMatchObject([
      { id: k, key: 'k', revision: 1, tier: 'a' },
      { id: 'x', tier: 'b' },
      { id: k, key: 'k', revision: 2, tier: 'b' },
    ])
  })

  test('nothing, where nothing was written', async () => {
    const b = new Between(keyedMemory())
    fixture = await overTiers({ a: { memory: keyedMemory() }, b: { memory: b } })
    const { remember } = caller(fixture)
    const { cursor } = await events()
    b.around = failing(new A2mError('QUOTA_EXCEEDED', 'full'), 'memory/remember')
    await errorOf(remember({ key: 'k', content: 'x', tier: 'b' }))
    await errorOf(remember({ content: 'x' }, { content: 'y', tier: 'b' }))
    expect((await events(cursor)).events).toEqual([])
  })

  test('a write that may have been done is told once it is found to have been', async () => {
    const state = openState({ path: ':memory:', durability: 'normal' })
    const inner = keyedMemory()
    const a = new Between(inner)
    fixture = await overTiers({ a: { memory: a } }, { state })
    const { cursor } = await events()
    a.around = async (method, _params, next) => {
      await next()
      if (method === 'memory/remember') a.around = () => Promise.reject(new Fault('cut', 'gone'))
      throw new Fault('cut', 'gone')
    }
    const { remember } = caller(fixture)
    await errorOf(remember({ content: 'no key: nothing is looked up first' }))
    await fixture.federation.close()
    fixture = await overTiers({ a: { memory: inner } }, { state })
    expect((await events(cursor)).events).toMatchObject([{ kind: 'written' }])
  })
})

test('a session of the call is that of its entries without one', async () => {
  fixture = await overTiers({ a: { memory: store('a') }, b: { memory: store('b') } })
  const records = [
    { content: 'one' },
    { content: 'two', tier: 'b', session: 'own' },
    { content: 'three', key: 'k' },
  ]
  const { call } = fixture.federation
  const { ids } = await call('memory/remember', { records, session: 'call' }, anyContext())
  const told = await caller(fixture).timeline()
  const sessions = new Map(told.map(({ id, session }) => [id, session]))
  expect(ids.map((id) => sessions.get(id))).toEqual(['call', 'own', 'call'])
})

describe('fetch', () => {
  test('counts as one use, unless a gateway says that it is none', async () => {
    const { remember, fetch, timeline } = await twoStores()
    await remember({ key: 'k', content: 'x', tier: 'b' })
    await fetch('k')
    await fetch('k')
    const quiet = { key: 'k', [EXTENSION]: { quiet: true } }
    await fixture?.federation.call('memory/fetch', quiet, gatewayContext(anyContext()))
    expect((await timeline())[0]).toMatchObject({ access_count: 2 })
  })

  test('gives a vector only where it is asked for', async () => {
    const { remember, fetch } = await twoStores()
    await remember({ key: 'k', content: 'x', embedding: [0.25, -0, 1e-320], tier: 'b' })
    expect(await fetch('k')).not.toHaveProperty('embedding')
    expect((await fetch('k', { embeddings: true }))?.embedding).toEqual([0.25, -0, 1e-320])
    expect(await fetch('k', { embeddings: false })).not.toHaveProperty('embedding')
  })

  test('for everybody finds what has no owner before what has one', async () => {
    const { fetch } = await twoStores()
    const alice = caller(fixture as TestFederation, () => ownerContext('alice'))
    await alice.remember({ key: 'k', content: 'of alice' })
    expect(await fetch('k')).toMatchObject({ content: 'of alice', owner: 'alice' })
    const all = caller(fixture as TestFederation)
    await all.remember({ key: 'k', content: 'of nobody', tier: 'b' })
    expect(await fetch('k')).toMatchObject({ content: 'of nobody' })
    expect(await fetch('k', { owner: 'alice' })).toMatchObject({ content: 'of alice' })
    expect(fixture?.blamed).toEqual([])
    expect(await errorOf(alice.fetch('k', { owner: 'bob' }))).toMatchObject({ code: -32005 })
  })

  test('a refusal of an upstream is a gap like another', async () => {
    const b = new Between(keyedMemory())
    fixture = await overTiers({ a: { memory: keyedMemory() }, b: { memory: b } })
    b.around = failing(new A2mError('INVALID_PARAMS', 'I do not like that key'), 'memory/fetch')
    const { fetch, remember } = caller(fixture, () => ownerContext('alice'))
    expect(await errorOf(fetch('k'))).toMatchObject({ code: -32603, data: { upstreams: ['b'] } })
    expect(await errorOf(remember({ key: 'k', content: 'x' }))).toMatchObject({
      data: { outcome: 'not_sent' },
    })
  })

  test('is refused where some upstream that is written to keeps no keys', async () => {
    const plain = new PlainMemory({ capabilities: ['core', 'scopes'] })
    fixture = await overTiers({ a: { memory: store('a') }, b: { memory: plain } })
    const { federation } = fixture
    expect(federation.refusal('memory/fetch', anyContext())).toMatchObject({ code: -32003 })
    const { remember, recall, timeline, forget } = caller(fixture)
    const asks: ((params: object) => Promise<unknown>)[] = [recall, timeline, forget]
    for (const ask of asks) {
      expect(await errorOf(ask({ key_prefix: 'k' }))).toMatchObject({ code: -32003 })
    }
    await remember({ key: 'k', content: 'one' }, { key: 'k', content: 'two' })
    expect(await timeline({ where: { key: null } })).toHaveLength(2)
  })
})

test('a key in reserved metadata is one too, where nothing can be written any more', async () => {
  const state = openState({ path: ':memory:', durability: 'normal' })
  const full = keyedMemory()
  const old = new PlainMemory({ capabilities: ['core', 'scopes'] })
  full.records.push({
    id: '1',
    key: 'wf/1',
    revision: 3,
    content: 'moved',
    created_at: '2026-01-01T00:00:00.000Z',
  })
  fixture = await overTiers({ a: { memory: full }, old: { memory: old } }, { state })
  expect(await caller(fixture).promote({ ids: ['1'], tier: 'old' })).toBe(1)
  await fixture.federation.close()
  const config = { access: 'read-only', ids: 'own' } as const
  const tiers = [tierConfig('a', 'a'), tierConfig('old', 'old')]
  fixture = await overTiers({ a: { memory: full }, old: { memory: old, config } }, { state, tiers })
  const { fetch, remember, timeline, recall } = caller(fixture)
  expect(await fetch('wf/1')).toMatchObject({ id: '1', content: 'moved', revision: 3 })
  expect(await timeline({ key_prefix: 'wf' })).toHaveLength(1)
  expect(await recall({ key_prefix: 'wf', query: 'moved' })).toHaveLength(1)
  expect(await errorOf(remember({ key: 'wf/1', content: 'x' }))).toMatchObject({ code: -32602 })
})
