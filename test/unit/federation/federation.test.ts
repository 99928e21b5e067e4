import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { checkParams } from '../../../src/protocol/checks.js'
import { JsonText } from '../../../src/protocol/json.js'

import {
  embeddedStore,
  openFederation,
  type TestFederation,
  temporaryFolder,
  tierConfig,
} from '../../support/federation.js'
import { anyContext, ownerContext } from '../../support/federation-contexts.js'

let folder: ReturnType<typeof temporaryFolder>
let fixture: TestFederation

beforeEach(async () => {
  folder = temporaryFolder()
  const store = (name: string, tiers: string[]) => ({
    memory: embeddedStore({ path: join(folder.path, `${name}.db`), tiers }),
  })
  fixture = await openFederation({
    upstreams: {
      a: store('a', ['working']),
      b: store('b', ['episodic', 'semantic']),
      c: store('c', ['procedural']),
    },
    tiers: [
      tierConfig('working', 'a', { capacity: 2, spillTo: 'episodic' }),
      tierConfig('episodic', 'b'),
      tierConfig('semantic', 'b'),
      tierConfig('procedural', 'c'),
    ],
  })
})
afterEach(async () => {
  await fixture.close()
  folder.remove()
})

const alice = () => ownerContext('alice')

async function remember(records: unknown[], context = alice()): Promise<string[]> {
  const params = checkParams('memory/remember', { records })
  return (await fixture.federation.call('memory/remember', params, context)).ids
}

test('a batch over three upstreams is written, recalled with votes, and told in order', async () => {
  const ids = await remember([
    { content: 'the deploy key rotates every 90 days', tier: 'semantic' },
    { content: 'we talked about keys', metadata: new JsonText('{"n":1.0}') },
    { content: 'rotate a key: open the vault', tier: 'procedural' },
  ])
  const { records, federation } = await fixture.federation.call(
    'memory/recall',
    { query: 'rotate the deploy key', explain: true },
    alice(),
  )
  expect(new Set(records.map(({ id }) => id))).toEqual(new Set(ids))
  expect(records[0]?.content).toContain('deploy key')
  expect(records[0]?.explain?.map(({ list }) => list)).toEqual(['b', 'lexical'])
  expect(federation).toMatchObject({
    partial: false,
    upstreams: { a: { state: 'ok' }, b: { count: 1 } },
  })
  const told = await fixture.federation.call('memory/timeline', {}, alice())
  expect(told.records.map(({ tier }) => tier).toSorted()).toEqual([
    'procedural',
    'semantic',
    'working',
  ])
  expect(told.records.find(({ tier }) => tier === 'working')?.metadata?.text).toBe('{"n":1.0}')
})

test('consolidate spills the oldest over capacity into another store and keeps their time', async () => {
  for (let n = 0; n < 5; n++) await remember([{ content: `turn ${n}`, id: `turn-${n}` }])
  const before = await fixture.federation.call('memory/timeline', {}, alice())
  const result = await fixture.federation.call('memory/consolidate', {}, alice())
  expect(result).toMatchObject({ moved: 3, dropped: 0, counts: { working: 2, episodic: 3 } })
  const after = await fixture.federation.call('memory/timeline', {}, alice())
  expect(after.records.map(({ id, created_at }) => [id, created_at])).toEqual(
    before.records.map(({ id, created_at }) => [id, created_at]),
  )
  expect(after.records.map(({ tier }) => tier)).toEqual([
    'episodic',
    'episodic',
    'episodic',
    'working',
    'working',
  ])
})

test('promote takes the whole group along and counts all that moved', async () => {
  await remember([
    { id: 'x', content: 'call', group: 'g' },
    { id: 'y', content: 'answer', group: 'g', tier: 'episodic' },
    { id: 'z', content: 'other' },
  ])
  const params = { ids: ['x', 'nowhere'], tier: 'procedural' }
  expect(await fixture.federation.call('memory/promote', params, alice())).toEqual({ promoted: 2 })
  expect(await fixture.federation.call('memory/promote', params, alice())).toEqual({ promoted: 0 })
  const { records } = await fixture.federation.call(
    'memory/timeline',
    { tier: 'procedural' },
    alice(),
  )
  expect(records.map(({ id }) => id)).toEqual(['x', 'y'])
})

test('another owner sees, counts, moves and deletes nothing of it', async () => {
  await remember([{ id: 'x', content: 'secret of alice', group: 'g' }])
  const bob = () => ownerContext('bob')
  const call = fixture.federation.call
  expect((await call('memory/recall', { query: 'secret' }, bob())).records).toEqual([])
  expect((await call('memory/timeline', {}, bob())).records).toEqual([])
  expect(await call('memory/promote', { ids: ['x'], tier: 'procedural' }, bob())).toEqual({
    promoted: 0,
  })
  expect(await call('memory/forget', { ids: ['x'] }, bob())).toEqual({ forgotten: 0 })
  const { tiers } = await call('memory/describe', {}, bob())
  expect(tiers?.map(({ count }) => count)).toEqual([0, 0, 0, 0])
  expect(await remember([{ id: 'x', content: 'of bob' }], bob())).toEqual(['x'])
  expect((await call('memory/timeline', {}, alice())).records).toHaveLength(1)
  await expect(call('memory/forget', { ids: ['x'], owner: 'alice' }, bob())).rejects.toMatchObject({
    code: -32005,
  })
})

test('an id that exists is returned, wherever it has moved to', async () => {
  await remember([{ id: 'x', content: 'first' }])
  await fixture.federation.call('memory/promote', { ids: ['x'], tier: 'semantic' }, alice())
  expect(
    await remember([
      { id: 'x', content: 'second' },
      { id: 'x', content: 'third' },
    ]),
  ).toEqual(['x', 'x'])
  const { records } = await fixture.federation.call('memory/timeline', {}, alice())
  expect(records.map(({ content }) => content)).toEqual(['first'])
})

test('forget joins its selectors and counts each once; a query forgets what recall would give', async () => {
  await remember([
    { id: 'a', content: 'red apple', role: 'user' },
    { id: 'b', content: 'green apple', role: 'tool', tier: 'semantic' },
    { id: 'c', content: 'red car', role: 'user', tier: 'semantic' },
  ])
  const forget = (params: object) =>
    fixture.federation.call('memory/forget', checkParams('memory/forget', params), alice())
  expect(await forget({ ids: ['a', 'b', 'c'], where: { role: 'user' }, tier: 'semantic' })).toEqual(
    { forgotten: 1 },
  )
  expect(await forget({ query: 'apple', where: { role: 'tool' } })).toEqual({ forgotten: 1 })
  await expect(forget({ ids: [], query: '', where: {} })).rejects.toMatchObject({ code: -32602 })
  await expect(forget({ tier: 'nowhere' })).rejects.toMatchObject({ code: -32002 })
  const { records } = await fixture.federation.call('memory/timeline', {}, anyContext())
  expect(records.map(({ id }) => id)).toEqual(['a'])
})

test('describe tells what is declared, to each caller', async () => {
  await remember([{ content: 'one' }])
  const mine = await fixture.federation.call('memory/describe', {}, alice())
  expect(mine.capabilities).toEqual(expect.arrayContaining(['core', 'tiers', 'scopes', 'events']))
  expect(mine.events).toEqual({ push: false })
  expect(mine.tiers?.[0]).toMatchObject({
    name: 'working',
    count: 1,
    capacity: 2,
    spill_to: 'episodic',
  })
  expect(mine.federation).toBeUndefined()
  const all = await fixture.federation.call('memory/describe', {}, anyContext())
  expect(all.federation?.upstreams).toEqual({ a: 'up', b: 'up', c: 'up' })
})

test('a key for everybody can say for whom it promotes and consolidates', async () => {
  const bob = () => ownerContext('bob')
  for (const context of [alice(), bob()]) {
    await remember([{ id: 'same', content: 'same' }, { content: 'b' }, { content: 'c' }], context)
  }
  const call = fixture.federation.call
  const promoting = checkParams('memory/promote', {
    ids: ['same'],
    tier: 'semantic',
    owner: 'alice',
  })
  expect(await call('memory/promote', promoting, anyContext())).toEqual({ promoted: 1 })
  await expect(call('memory/promote', promoting, bob())).rejects.toMatchObject({ code: -32005 })
  const consolidating = checkParams('memory/consolidate', { owner: 'bob' })
  expect(await call('memory/consolidate', consolidating, anyContext())).toMatchObject({ moved: 1 })
  await expect(call('memory/consolidate', consolidating, alice())).rejects.toMatchObject({
    code: -32005,
  })
})

test.each(['...', '😀'])('a query without a word, %s, finds and forgets nothing', async (query) => {
  await remember([{ content: 'important' }, { content: 'fact', tier: 'semantic' }])
  expect((await fixture.federation.call('memory/recall', { query }, alice())).records).toEqual([])
  expect(await fixture.federation.call('memory/forget', { query }, alice())).toEqual({
    forgotten: 0,
  })
  await expect(
    fixture.federation.call('memory/forget', { query: ' ' }, alice()),
  ).rejects.toMatchObject({
    code: -32602,
  })
})

test('an id that begins with the name of an upstream is refused, never taken for another', async () => {
  await remember([{ id: 'x', content: 'first' }])
  for (const id of ['a:x', 'a:new', 'b:x']) {
    await expect(remember([{ id, content: 'second' }])).rejects.toMatchObject({ code: -32602 })
  }
  expect(await remember([{ id: 'other:x', content: 'third' }])).toEqual(['other:x'])
})
