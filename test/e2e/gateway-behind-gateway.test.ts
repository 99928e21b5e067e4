import { expect, test } from 'vitest'
import {
  type ConfigFile,
  type Gateway,
  keyEntry,
  keyOf,
  startGateway,
} from '../support/gateway-under-test.js'
import { PlainServer } from '../support/plain-server.js'
import { until } from '../support/waiting.js'

const [anna, ben, root] = ['anna', 'ben', 'root'].map((name) => ({ key: keyOf(name) }))
const CALLERS = ['anna', 'ben'].map((name) => keyEntry(name))
const AT_DESK = {
  working: { kind: 'working', upstream: 'desk', capacity: 1, spill_to: 'episodic' },
}
const AT_TEAM = Object.fromEntries(
  ['episodic', 'semantic', 'procedural'].map((kind) => [kind, { kind, upstream: 'team' }]),
)

interface UnderTest {
  readonly outer: Gateway
  readonly inner: Gateway
  /** The upstream of the inner gateway that has its procedural tier, a store of somebody else's. */
  readonly notes: PlainServer
}

/** Two gateways, the inner with a built-in store and one of somebody else's, the outer with what `configure` says. */
async function twoGateways(
  configure: (team: object) => ConfigFile,
  roles: readonly string[] = ['gateway'],
): Promise<UnderTest> {
  const notes = await PlainServer.start({ capabilities: ['core', 'scopes'] })
  const inner = await startGateway({
    auth: { keys: [...CALLERS, keyEntry('root', '*', roles)] },
    upstreams: {
      knowledge: { store: 'sqlite', path: 'knowledge.db' },
      notes: { url: notes.url },
    },
    tiers: {
      episodic: { kind: 'episodic', upstream: 'knowledge', promote_to: 'semantic' },
      semantic: { kind: 'semantic', upstream: 'knowledge', capacity: 500 },
      procedural: { kind: 'procedural', upstream: 'notes' },
    },
  })
  await inner.up('notes')
  const team = { url: inner.url, auth: { bearer: root?.key }, refresh: '200ms' }
  const outer = await startGateway({ auth: { keys: CALLERS }, ...configure(team) })
  await outer.up('team')
  return { outer, inner, notes }
}

const alone = (team: object) => ({ upstreams: { team } })
const withDesk = (team: object) => ({
  upstreams: { desk: { store: 'sqlite', path: 'desk.db' }, team },
  tiers: { ...AT_DESK, ...AT_TEAM },
})

test('the outer declares the tiers of the inner, and counts them for the caller', async () => {
  const { outer, inner } = await twoGateways(alone)
  await outer.remember({ content: 'a', tier: 'semantic' }, anna)
  await outer.remember({ content: 'b', tier: 'semantic' }, ben)
  await inner.remember({ content: 'c' }, anna)
  const told = await outer.call('memory/describe', {}, anna)
  const own = ['core', 'tiers', 'scopes', 'events', 'summarize', 'prompt']
  expect(told.capabilities).toEqual(own)
  expect(told.tiers).toMatchObject([
    { name: 'episodic', kind: 'episodic', count: 1 },
    { name: 'semantic', kind: 'semantic', count: 1 },
    { name: 'procedural', kind: 'procedural', count: 0 },
  ])
})

test('a gap of the inner is a gap of the outer, with what the inner says of it', async () => {
  const { outer, notes } = await twoGateways(withDesk)
  await outer.remember({ content: 'the quay', tier: 'semantic' }, anna)
  const recall = () => outer.call('memory/recall', { query: 'quay' }, anna)
  const whole = await recall()
  expect(whole.federation).toMatchObject({
    partial: false,
    upstreams: { team: { state: 'ok', federation: { partial: false } } },
  })
  await notes.stop()
  const { records, federation } = await recall()
  expect(records).toMatchObject([{ content: 'the quay' }])
  expect(federation).toMatchObject({
    partial: true,
    upstreams: {
      desk: { state: 'ok' },
      team: {
        state: 'ok',
        federation: {
          partial: true,
          upstreams: { knowledge: { state: 'ok' }, notes: { state: 'failed' } },
        },
      },
    },
  })
  const strict = outer.call('memory/recall', { query: 'quay', partial: false }, anna)
  await expect(strict).rejects.toMatchObject({ code: -32603 })
  await notes.resume()
  expect((await recall()).federation?.partial).toBe(false)
})

test('owners are kept apart from end to end', async () => {
  const { outer, inner, notes } = await twoGateways(withDesk)
  for (const tier of ['working', 'semantic', 'procedural']) {
    await outer.remember({ content: `anna in ${tier}`, tier, id: `same-${tier}` }, anna)
  }
  for (const tier of ['working', 'semantic']) {
    await outer.remember({ content: `ben in ${tier}`, tier, id: `same-${tier}` }, ben)
  }
  const others = ['anna in working', 'anna in semantic', 'anna in procedural']
  expect((await outer.contentsOf({}, anna)).sort()).toEqual(others.sort())
  expect((await outer.contentsOf({}, ben)).sort()).toEqual(['ben in semantic', 'ben in working'])
  expect(await inner.contentsOf({ tier: 'semantic' }, ben)).toEqual(['ben in semantic'])
  expect(notes.memory.records).toMatchObject([{ owner: 'anna' }])
  const ids = ['same-working', 'same-semantic', 'same-procedural']
  expect(await outer.call('memory/forget', { ids }, ben)).toMatchObject({ forgotten: 2 })
  expect((await outer.contentsOf({}, anna)).sort()).toEqual(others.sort())
  await expect(
    outer.remember({ content: 'x', tier: 'procedural', id: 'same-procedural' }, ben),
  ).rejects.toMatchObject({ code: -32603, data: { upstream: 'team', code: -32005 } })
})

test('what moves between a store and the inner keeps its id, its time and its metadata', async () => {
  const { outer, notes } = await twoGateways(withDesk)
  const metadata = { source: 'log', n: 3 }
  const id = await outer.remember({ content: 'the quay', tier: 'working', metadata }, anna)
  const read = async () => (await outer.call('memory/timeline', {}, anna)).records
  const [born] = await read()
  await until(() => Date.now() > Date.parse(born?.created_at ?? '') + 5)
  for (const tier of ['semantic', 'procedural', 'working', 'procedural', 'episodic']) {
    expect(await outer.call('memory/promote', { ids: [id], tier }, anna)).toEqual({ promoted: 1 })
    const records = await read()
    expect(records).toHaveLength(1)
    expect(records[0]).toMatchObject({ ...born, tier, metadata: expect.anything() })
    expect(records[0]?.metadata?.value()).toEqual(metadata)
  }
  expect(notes.memory.records).toEqual([])
})

test('what is over capacity spills to the inner, the oldest first', async () => {
  const { outer, inner } = await twoGateways(withDesk)
  for (const content of ['first', 'second', 'third']) {
    await outer.remember({ content, tier: 'working' }, anna)
  }
  await outer.remember({ content: 'of ben', tier: 'working' }, ben)
  const told = await outer.call('memory/consolidate', {}, anna)
  expect(told).toMatchObject({ moved: 2, counts: { working: 1, episodic: 2 } })
  expect(await inner.contentsOf({ tier: 'episodic' }, anna)).toEqual(['first', 'second'])
  expect(await outer.contentsOf({ tier: 'working' }, ben)).toEqual(['of ben'])
})

test('without the role of a gateway nothing can be moved to the inner, and nothing is lost', async () => {
  const { outer } = await twoGateways(withDesk, [])
  const id = await outer.remember({ content: 'the quay', tier: 'working' }, anna)
  const move = outer.call('memory/promote', { ids: [id], tier: 'semantic' }, anna)
  await expect(move).rejects.toMatchObject({ message: expect.stringContaining('team') })
  expect(await outer.contentsOf({ tier: 'working' }, anna)).toEqual(['the quay'])
  expect(await outer.contentsOf({ tier: 'semantic' }, anna)).toEqual([])
})
