import { expect, test } from 'vitest'
import { keyEntry, keyOf, startGateway } from '../support/gateway-under-test.js'
import { until } from '../support/waiting.js'

const CONFIG = {
  auth: { keys: [keyEntry('anna'), keyEntry('outer', '*', ['gateway'])] },
  upstreams: {
    hot: { store: 'sqlite', path: 'hot.db' },
    cold: { store: 'sqlite', path: 'cold.db' },
    facts: { store: 'sqlite', path: 'facts.db' },
  },
  tiers: {
    working: {
      kind: 'working',
      upstream: 'hot',
      capacity: 2,
      per_session: true,
      spill_to: 'episodic',
    },
    episodic: {
      kind: 'episodic',
      upstream: 'cold',
      promote_to: 'semantic',
      promote_after: 2,
      half_life: '7d',
    },
    semantic: { kind: 'semantic', upstream: 'facts' },
  },
}
const anna = { key: keyOf('anna') }

const talk = (session: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({
    id: `${session}-${index}`,
    content: `${session} says ${index}`,
    session,
  }))

test('conversations over three stores: bounded, listed, closed, and what was used is promoted', async () => {
  const gateway = await startGateway(CONFIG)
  const { tiers } = await gateway.call('memory/describe', {}, anna)
  expect(tiers).toMatchObject([
    { name: 'working', capacity: 2, per_session: true, spill_to: 'episodic' },
    { name: 'episodic', promote_to: 'semantic', promote_after: 2, half_life: 604_800 },
    { name: 'semantic' },
  ])
  for (const record of [...talk('busy', 4), ...talk('quiet', 2)]) {
    await gateway.remember(record, anna)
  }
  expect(await gateway.call('memory/consolidate', {}, anna)).toMatchObject({
    moved: 2,
    counts: { working: 4, episodic: 2 },
  })
  for (const _ of [1, 2]) {
    const params = { query: 'busy says 0', limit: 1 }
    const { records: found } = await gateway.call('memory/recall', params, anna)
    expect(found.map(({ id }) => id)).toEqual(['busy-0'])
  }
  await until(async () => {
    const params = { where: { id: 'busy-0' } }
    const { records: found } = await gateway.call('memory/timeline', params, anna)
    return found[0]?.access_count === 2
  })
  expect((await gateway.call('memory/session/list', {}, anna)).sessions).toMatchObject([
    { session: 'busy', records: 4, tiers: { working: 2, episodic: 2 } },
    { session: 'quiet', records: 2, tiers: { working: 2 } },
  ])
  expect(await gateway.call('memory/session/close', { session: 'busy' }, anna)).toMatchObject({
    closed: 'busy',
    flushed: 2,
    moved: 2,
    promoted: 1,
    dropped: 0,
    counts: { working: 2, episodic: 3, semantic: 1 },
  })
  const replay = { where: { session: 'busy' } }
  expect(await gateway.contentsOf(replay, anna)).toEqual(
    talk('busy', 4).map(({ content }) => content),
  )
  const praise = { ids: ['busy-0', 'quiet-1', 'busy-9'], amount: 2 }
  expect(await gateway.call('memory/reinforce', praise, anna)).toEqual({ reinforced: 2 })
  const { records: praised } = await gateway.call('memory/timeline', { tier: 'semantic' }, anna)
  expect(praised).toMatchObject([{ id: 'busy-0', salience: 3, session: 'busy', access_count: 2 }])
})

test('a session name of a megabyte is a name like any other, and none at all is refused', async () => {
  const gateway = await startGateway(CONFIG)
  const session = 'x'.repeat(1 << 20)
  await gateway.remember({ content: 'said', session }, anna)
  const { sessions } = await gateway.call('memory/session/list', {}, anna)
  expect(sessions.map((one) => one.session === session)).toEqual([true])
  expect(await gateway.contentsOf({ where: { session } }, anna)).toEqual(['said'])
  const closed = await gateway.call('memory/session/close', { session }, anna)
  expect({ ...closed, closed: closed.closed === session }).toMatchObject({
    closed: true,
    flushed: 1,
  })
  for (const params of [{}, { session: '' }, { session: null }, { session: 7 }]) {
    await expect(gateway.call('memory/session/close', params, anna)).rejects.toMatchObject({
      code: -32602,
    })
  }
  const remembering = gateway.call(
    'memory/remember',
    { records: [{ content: 'x' }], session: '' },
    anna,
  )
  await expect(remembering).rejects.toMatchObject({ code: -32602 })
})

test('a gateway behind a gateway: what goes out is used once, and what moves in comes whole', async () => {
  const inner = await startGateway(CONFIG)
  const outer = await startGateway({
    auth: { keys: [keyEntry('anna')] },
    upstreams: {
      desk: { store: 'sqlite', path: 'desk.db' },
      team: { url: inner.url, auth: { bearer: keyOf('outer') } },
    },
    tiers: {
      working: { kind: 'working', upstream: 'desk', spill_to: 'episodic' },
      episodic: { kind: 'episodic', upstream: 'team' },
      semantic: { kind: 'semantic', upstream: 'team' },
    },
  })
  await outer.up('team')
  await outer.call('memory/remember', { records: talk('desk', 3), session: 'desk' }, anna)
  await outer.call('memory/recall', { query: 'desk says 1', limit: 1 }, anna)
  await until(async () => {
    const { records } = await outer.call('memory/timeline', { where: { id: 'desk-1' } }, anna)
    return records[0]?.access_count === 1
  })
  const before = (await outer.call('memory/timeline', {}, anna)).records
  expect(await outer.call('memory/session/close', { session: 'desk' }, anna)).toMatchObject({
    flushed: 3,
    counts: { working: 0, episodic: 3 },
  })
  const after = (await outer.call('memory/timeline', {}, anna)).records
  expect(after).toEqual(before.map((record) => ({ ...record, tier: 'episodic' })))
  await outer.remember({ content: 'something else', id: 'other' }, anna)
  await outer.call('memory/recall', { query: 'desk says 2', limit: 1 }, anna)
  await until(async () => {
    const { records } = await inner.call('memory/timeline', { where: { id: 'desk-2' } }, anna)
    return records[0]?.access_count === 1
  })
  const { records } = await inner.call('memory/timeline', {}, anna)
  expect(records.map(({ access_count }) => access_count)).toEqual([0, 1, 1])
  expect(await outer.call('memory/reinforce', { ids: ['desk-2'], amount: 1 }, anna)).toEqual({
    reinforced: 1,
  })
})
