import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { EXTENSION } from '../../../src/protocol/extension.js'
import { meets } from '../../support/meets.js'
import { codeOf, OpenStore } from './open.js'

const EVENTS = { events: { keep: 100 } }

/** All that has happened since a cursor. */
const since = async (store: OpenStore, cursor: string, params: object = {}) =>
  (await store.call('memory/events', { cursor, ...params })).events

const now = async (store: OpenStore) => (await store.call('memory/events', {})).cursor

test('events are declared where they are kept, without push, and not where none are', async () => {
  for (const events of [undefined, { keep: 0 }]) {
    const store = new OpenStore(events && { events })
    expect((await store.call('memory/describe', {})).capabilities).not.toContain('events')
    expect(await codeOf(store.call('memory/events', {}))).toBe(-32003)
  }
  const told = await new OpenStore(EVENTS).call('memory/describe', {})
  expect(told).toMatchObject({ events: { push: false } })
  expect(told.capabilities).toContain('events')
  expect(told.methods).toContain('memory/events')
})

test('a store alone pushes to nobody', async () => {
  const store = new OpenStore(EVENTS)
  expect(await codeOf(store.call('memory/events/subscribe', {}))).toBe(-32003)
  expect(await store.call('memory/events/unsubscribe', {})).toEqual({ subscribed: false })
  const without = new OpenStore()
  expect(await codeOf(without.call('memory/events/unsubscribe', {}))).toBe(-32003)
})

test('every record written is one event, with what it has', async () => {
  const store = new OpenStore(EVENTS)
  const cursor = await now(store)
  await store.write({ id: 'a', content: 'x', session: 's', key: 'k', tier: 'semantic' })
  await store.call('memory/remember', {
    session: 't',
    records: [{ key: 'k', content: 'y' }, { id: 'a', content: 'no' }, { content: 'z' }],
  })
  expect(await since(store, cursor)).toEqual([
    {
      ...{ kind: 'written', id: 'a', tier: 'semantic', session: 's', key: 'k', revision: 0 },
      at: '2026-01-01T00:00:00.001Z',
    },
    {
      ...{ kind: 'written', id: 'a', tier: 'semantic', session: 't', key: 'k', revision: 1 },
      at: '2026-01-01T00:00:00.001Z',
    },
    { kind: 'written', id: 'new-1', tier: 'working', session: 't', at: '2026-01-01T00:00:00.001Z' },
  ])
})

test(`other changes are one event a call, and none where nothing changed ${meets('4.12/coalesced')}`, async () => {
  const tiers = [
    { name: 'working', kind: 'working', capacity: 1, spill_to: 'episodic' },
    ...['episodic', 'semantic'],
  ]
  const store = new OpenStore({ ...EVENTS, tiers })
  const ids = [...(await store.write('a', 'b', 'c', { content: 'd', session: 's' }))]
  const cursor = await now(store)
  await store.call('memory/promote', { ids: ids.slice(0, 1), tier: 'semantic' })
  await store.call('memory/promote', { ids: ids.slice(0, 1), tier: 'semantic' })
  await store.call('memory/consolidate', {})
  await store.call('memory/session/close', { session: 's' })
  await store.call('memory/session/close', { session: 'none' })
  await store.call('memory/forget', { ids: ids.slice(0, 2) })
  await store.call('memory/forget', { ids: ids.slice(0, 2) })
  await store.call('memory/reinforce', { ids })
  await store.recall('c')
  const counts = { promoted: 0, dropped: 0, summarized: 0 }
  expect(await since(store, cursor)).toMatchObject([
    { kind: 'promoted', ids: ids.slice(0, 1), tier: 'semantic' },
    { kind: 'consolidated', moved: 2, ...counts },
    { kind: 'consolidated', moved: 1, ...counts },
    { kind: 'session_closed', session: 's' },
    { kind: 'forgotten', count: 2, ids: ids.slice(0, 2).toReversed() },
  ])
})

test(`an owner is told of that owner’s records alone ${meets('4.12/scoped')}`, async () => {
  const store = new OpenStore(EVENTS)
  const cursor = await now(store)
  await store.write({ id: 'a', content: 'x', owner: 'ann' }, { id: 'b', content: 'x' })
  await store.call('memory/forget', { where: { content: 'x' } })
  expect(await since(store, cursor, { owner: 'ann' })).toMatchObject([
    { kind: 'written', id: 'a' },
    { kind: 'forgotten', count: 1, ids: ['a'] },
  ])
  expect(await since(store, cursor, { [EXTENSION]: { owner: null } })).toMatchObject([
    { kind: 'written', id: 'b' },
    { kind: 'forgotten', count: 1, ids: ['b'] },
  ])
  expect(await since(store, cursor, { owner: 'eve' })).toEqual([])
  expect(await since(store, cursor)).toMatchObject([{}, {}, { kind: 'forgotten', count: 2 }])
})

test('a change that fails leaves no event', async () => {
  const store = new OpenStore(EVENTS)
  const cursor = await now(store)
  const records = [
    { content: 'x', embedding: [1] },
    { content: 'y', embedding: [1, 2] },
  ]
  expect(await codeOf(store.call('memory/remember', { records }))).toBe(-32008)
  expect(await since(store, cursor)).toEqual([])
})

test(`a cursor outlives the process; one from before the window resets ${meets('4.12/reset')}`, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'store-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const options = { path: join(folder, 'events.db'), events: { keep: 3 } }
  const store = new OpenStore(options)
  const start = await now(store)
  await store.write('a', 'b')
  await store.memory.close()
  const again = new OpenStore(options)
  expect(await since(again, start)).toHaveLength(2)
  await again.write({ id: 'c', content: 'c' }, { id: 'd', content: 'd' })
  const late = await again.call('memory/events', { cursor: start })
  expect(late).toMatchObject({ reset: true })
  expect(late.events).toHaveLength(3)
  const reader = new OpenStore({ ...options, access: 'read-only' })
  expect(await since(reader, late.cursor)).toEqual([])
  expect(await codeOf(reader.call('memory/events', { cursor: 'garbage' }))).toBe(-32602)
})
