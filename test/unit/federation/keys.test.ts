import { afterEach, describe, expect, test } from 'vitest'
import { JsonText } from '../../../src/protocol/json.js'
import type { MemoryRecord } from '../../../src/protocol/records.js'
import { type TestFederation, tierConfig } from '../../support/federation.js'
import { contextOf, ownerContext } from '../../support/federation-contexts.js'
import { caller, errorOf, KEYED, keyedMemory, overTiers } from '../../support/keyed.js'
import { meets } from '../../support/meets.js'
import { Faulty, PlainMemory } from '../../support/plain-memory.js'

let fixture: TestFederation | undefined
afterEach(async () => {
  await fixture?.close()
  fixture = undefined
})

async function three() {
  const memories = { a: keyedMemory(), b: keyedMemory(), c: keyedMemory() }
  const { a, b, c } = memories
  fixture = await overTiers({ a: { memory: a }, b: { memory: b }, c: { memory: c } })
  return { ...memories, ...caller(fixture) }
}

/** A fetch from everybody, and what it took. */
const asked = (memory: PlainMemory, method: string) =>
  memory.asked.filter((call) => call.method === method)

describe('one record a key', () => {
  test(`the first write is revision 0, the next is made where the record lives ${meets('3.6/replacement')}`, async () => {
    const { a, b, c, remember, fetch } = await three()
    const [id] = await remember({ key: 'user/city', content: 'Rome', tier: 'b' })
    expect(await fetch('user/city')).toMatchObject({ id, content: 'Rome', revision: 0, tier: 'b' })
    expect(await remember({ key: 'user/city', content: 'Oslo' })).toEqual([id])
    expect(await fetch('user/city')).toMatchObject({ id, content: 'Oslo', revision: 1, tier: 'b' })
    expect([a, b, c].map(({ records }) => records.length)).toEqual([0, 1, 0])
  })

  test('it takes the new content whole: what the write does not have is gone', async () => {
    const { remember, fetch } = await three()
    const metadata = new JsonText('{"n":1.0}')
    await remember({ key: 'k', content: 'x', role: 'user', metadata, group: 'g' })
    await remember({ key: 'k', content: 'y' })
    const record = await fetch('k')
    expect(record).not.toHaveProperty('metadata')
    expect(record).not.toHaveProperty('group')
    expect(record).toMatchObject({ content: 'y', tier: 'a' })
  })

  test('a tier that is named for an occupied key moves its record, whole group and all', async () => {
    const { a, b, remember, fetch, timeline } = await three()
    const [id, other] = await remember(
      { key: 'k', content: 'x', group: 'g' },
      { content: 'beside it', group: 'g' },
    )
    const before = await fetch('k')
    expect(await remember({ key: 'k', content: 'y', group: 'g', tier: 'b' })).toEqual([id])
    expect(await fetch('k')).toMatchObject({ id, content: 'y', tier: 'b', revision: 1 })
    expect((await fetch('k'))?.created_at).toBe(before?.created_at)
    expect((await timeline({ tier: 'b' })).map((record) => record.id)).toEqual([id, other])
    expect([a, b].map(({ records }) => records.length)).toEqual([0, 2])
    await remember({ key: 'k', content: 'z', tier: 'b' })
    expect((await fetch('k'))?.revision).toBe(2)
  })

  test('a tier of the same upstream moves it there too', async () => {
    const both = { ...KEYED, capabilities: ['core', 'scopes', 'keys', 'tiers'], tiers: ['x', 'y'] }
    const memory = new PlainMemory(both)
    fixture = await overTiers(
      { m: { memory } },
      { tiers: [tierConfig('x', 'm'), tierConfig('y', 'm')] },
    )
    const { remember, fetch } = caller(fixture)
    const [id] = await remember({ key: 'k', content: 'one' })
    await remember({ key: 'k', content: 'two', tier: 'y' })
    expect(await fetch('k')).toMatchObject({ id, content: 'two', tier: 'y', revision: 1 })
    expect(memory.records).toHaveLength(1)
  })

  test('the same key several times in a batch is written in order, and is one record', async () => {
    const { remember, fetch, timeline } = await three()
    const ids = await remember(
      { key: 'k', content: '0' },
      { content: 'between', tier: 'c' },
      { key: 'k', content: '1', tier: 'b' },
      { key: 'k', content: '2' },
    )
    expect(new Set([ids[0], ids[2], ids[3]]).size).toBe(1)
    expect(await fetch('k')).toMatchObject({ id: ids[0], content: '2', revision: 2, tier: 'b' })
    expect(await timeline()).toHaveLength(2)
    const again = await remember({ key: 'k', content: '3' }, { key: 'k', content: '4', tier: 'c' })
    expect(again).toEqual([ids[0], ids[0]])
    expect(await fetch('k')).toMatchObject({ content: '4', revision: 4, tier: 'c' })
  })

  test(`two owners have each their own ${meets('3.6/per-owner')}`, async () => {
    await three()
    const of = (owner: string) => caller(fixture as TestFederation, () => ownerContext(owner))
    await of('alice').remember({ key: 'k', content: 'of alice', tier: 'b' })
    await of('bob').remember({ key: 'k', content: 'of bob', tier: 'c' })
    await of('bob').remember({ key: 'k', content: 'of bob again' })
    expect(await of('alice').fetch('k')).toMatchObject({ content: 'of alice', revision: 0 })
    expect(await of('bob').fetch('k')).toMatchObject({ content: 'of bob again', revision: 1 })
    expect(await of('carol').fetch('k')).toBeNull()
    const nobody = caller(fixture as TestFederation, () => contextOf({ kind: 'ownerless' }))
    expect(await nobody.fetch('k')).toBeNull()
    await nobody.remember({ key: 'k', content: 'of nobody' })
    expect(await nobody.fetch('k')).toMatchObject({ content: 'of nobody', revision: 0 })
    expect(await of('alice').fetch('k')).toMatchObject({ content: 'of alice' })
  })
})

describe('ids and keys', () => {
  test('an id that exists wins: it is returned and nothing is written', async () => {
    const { remember, fetch } = await three()
    await remember({ id: 'x', content: 'old', tier: 'c' })
    expect(await remember({ id: 'x', key: 'k', content: 'new' })).toEqual(['x'])
    expect(await fetch('k')).toBeNull()
  })

  test('a new id with an occupied key: the record keeps its own, which is returned', async () => {
    const { remember, fetch, timeline } = await three()
    await remember({ id: 'first', key: 'k', content: 'one', tier: 'b' })
    expect(await remember({ id: 'second', key: 'k', content: 'two' })).toEqual(['first'])
    expect(await fetch('k')).toMatchObject({ id: 'first', content: 'two', revision: 1 })
    expect(await timeline({ where: { id: 'second' } })).toEqual([])
  })

  test('in one batch it is as if they came one after the other', async () => {
    const { remember, fetch } = await three()
    const entries = [
      { id: 'x', key: 'k', content: '0' },
      { id: 'x', key: 'k', content: 'never: x exists now' },
      { id: 'y', key: 'k', content: '1' },
      { id: 'y', key: 'k', content: '2, since y does not' },
    ]
    expect(await remember(...entries)).toEqual(['x', 'x', 'x', 'x'])
    expect(await fetch('k')).toMatchObject({ id: 'x', content: '2, since y does not', revision: 2 })
  })

  test('with one store alone it is the same', async () => {
    fixture = await overTiers({ a: { memory: keyedMemory() } })
    const { remember, fetch } = caller(fixture)
    await remember({ id: 'x', content: 'old' })
    expect(await remember({ id: 'x', key: 'k', content: 'new' })).toEqual(['x'])
    expect(await fetch('k')).toBeNull()
    await remember({ id: 'y', key: 'k', content: 'one' })
    expect(await remember({ id: 'z', key: 'k', content: 'two' })).toEqual(['y'])
  })
})

describe('where a key could live and nobody can tell', () => {
  async function faulty() {
    const inner = { a: keyedMemory(), b: keyedMemory(), c: keyedMemory() }
    const a = new Faulty(inner.a)
    const b = new Faulty(inner.b)
    fixture = await overTiers({ a: { memory: a }, b: { memory: b }, c: { memory: inner.c } })
    return { inner, a, b, ...caller(fixture) }
  }
  const down = () => new Error('down')

  test('a write is not sent, unless the holder has been found', async () => {
    const { inner, a, remember, fetch } = await faulty()
    await remember({ key: 'known', content: 'x', tier: 'b' })
    a.fault = down
    expect(await errorOf(remember({ key: 'new', content: 'x', tier: 'c' }))).toMatchObject({
      code: -32603,
      data: { outcome: 'not_sent', upstreams: ['a'] },
    })
    expect(inner.c.records).toEqual([])
    await remember({ key: 'known', content: 'y' })
    expect(await fetch('known')).toMatchObject({ content: 'y', revision: 1 })
    expect(await errorOf(fetch('new'))).toMatchObject({ code: -32603, data: { upstreams: ['a'] } })
    a.fault = () => undefined
    expect(await fetch('new')).toBeNull()
  })

  test('what was never read withholds keys, and a key is an unknown field then', async () => {
    const b = new Faulty(keyedMemory())
    b.fault = down
    fixture = await overTiers({ a: { memory: keyedMemory() }, b: { memory: b } })
    const { remember, timeline } = caller(fixture)
    await remember({ key: 'k', content: 'x' })
    expect((await timeline())[0]).not.toHaveProperty('key')
  })
})

describe('read-only upstreams', () => {
  const archived: MemoryRecord = {
    id: 'old',
    key: 'k',
    revision: 4,
    content: 'archived',
    created_at: '2026-01-01T00:00:00.000Z',
  }

  test('a key that one holds is told and cannot be written', async () => {
    const archive = keyedMemory({ readOnly: true })
    archive.records.push(archived)
    const a = keyedMemory()
    fixture = await overTiers(
      { a: { memory: a }, archive: { memory: archive, config: { ids: 'own' } } },
      { tiers: [tierConfig('a', 'a', { also: ['archive'] })] },
    )
    const { remember, fetch } = caller(fixture)
    expect(await fetch('k')).toMatchObject({ id: 'old', revision: 4 })
    const error = await errorOf(remember({ content: 'other' }, { key: 'k', content: 'new' }))
    expect(error).toMatchObject({ code: -32602 })
    expect(String(error)).toContain('records[1].key: the record at "k" is held by archive')
    expect(a.records).toEqual([])
  })

  test('one that keeps no keys is asked for none, takes none away, and is left out of prefixes', async () => {
    const archive = new PlainMemory({ readOnly: true, capabilities: ['core', 'scopes'] })
    fixture = await overTiers(
      { a: { memory: keyedMemory() }, archive: { memory: archive } },
      { tiers: [tierConfig('a', 'a', { also: ['archive'] })] },
    )
    const { remember, fetch } = caller(fixture)
    await remember({ key: 'k/1', content: 'x' })
    expect(await fetch('k/1')).toMatchObject({ content: 'x' })
    const { records, federation } = await fixture.federation.call(
      'memory/timeline',
      { key_prefix: 'k' },
      ownerContext('alice'),
    )
    expect(records).toEqual([])
    expect(federation?.upstreams['archive']).toMatchObject({ state: 'skipped' })
    expect(asked(archive, 'memory/fetch')).toEqual([])
  })

  test('common ground is nobody’s own: its key is read by everyone and keeps nobody from having it', async () => {
    const archive = keyedMemory({ readOnly: true })
    archive.records.push(archived)
    const config = { owner: 'none', access: 'read-only', ids: 'own' } as const
    fixture = await overTiers(
      { a: { memory: keyedMemory() }, archive: { memory: archive, config } },
      { tiers: [tierConfig('a', 'a', { also: ['archive'] })] },
    )
    const { remember, fetch } = caller(fixture, () => ownerContext('alice'))
    expect(await fetch('k')).toMatchObject({ content: 'archived' })
    await remember({ key: 'k', content: 'of alice' })
    expect(await fetch('k')).toMatchObject({ content: 'of alice', revision: 0 })
    expect(fixture.blamed).toEqual([])
  })
})

test('a key of one owner in two places: the higher revision counts, and the other place is blamed', async () => {
  const { a, b, fetch, remember } = await three()
  const at = { created_at: '2026-01-01T00:00:00.000Z', key: 'k' }
  a.records.push({ ...at, id: 'one', content: 'older', revision: 1 })
  b.records.push({ ...at, id: 'two', content: 'newer', revision: 2 })
  expect(await fetch('k')).toMatchObject({ id: 'two' })
  expect(fixture?.blamed).toEqual([['a', 'duplicate_key', 1]])
  expect(await remember({ key: 'k', content: 'newest' })).toEqual(['two'])
  expect(b.records).toMatchObject([{ id: 'two', content: 'newest', revision: 3 }])
})

test('an upstream that mixes up the keys of owners is found out', async () => {
  const a = keyedMemory({ faults: ['keys-of-all-owners'] })
  fixture = await overTiers({ a: { memory: a } })
  await caller(fixture, () => ownerContext('bob')).remember({ key: 'k', content: 'of bob' })
  const alice = caller(fixture, () => ownerContext('alice'))
  expect(await alice.fetch('k')).toBeNull()
  expect(await errorOf(alice.remember({ key: 'k', content: 'of alice' }))).toMatchObject({
    code: -32005,
  })
})

describe('a key for everybody', () => {
  test('that several owners have is nobody’s in particular, in one store as in several', async () => {
    const { fetch, remember } = await three()
    const entry = { key: 'k', content: 'x' }
    await remember({ ...entry, owner: 'alice' })
    await remember({ ...entry, owner: 'bob' })
    await remember({ ...entry, owner: 'carol', key: 'other', tier: 'a' })
    await remember({ ...entry, owner: 'dave', key: 'other', tier: 'b' })
    const refusal = { code: -32602, message: expect.stringContaining('owner') }
    expect(await errorOf(fetch('k'))).toMatchObject(refusal)
    expect(await errorOf(fetch('other'))).toMatchObject(refusal)
    expect(await fetch('k', { owner: 'bob' })).toMatchObject({ owner: 'bob' })
  })

  test('is the only owner’s, or else that of the record that is nobody’s', async () => {
    const { fetch, remember } = await three()
    await remember({ key: 'k', content: 'of alice', owner: 'alice' })
    expect(await fetch('k')).toMatchObject({ owner: 'alice' })
    await remember({ key: 'k', content: 'nobody’s', tier: 'b' })
    expect(await fetch('k')).toMatchObject({ content: 'nobody’s' })
  })
})
