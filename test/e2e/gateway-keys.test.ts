import { describe, expect, test } from 'vitest'
import type { A2mError } from '../../src/protocol/errors.js'
import { emptyFolder } from '../support/gateway-process.js'
import {
  type ConfigFile,
  type Gateway,
  keyEntry,
  startGateway,
} from '../support/gateway-under-test.js'
import { KEYED } from '../support/keyed.js'
import { PlainServer } from '../support/plain-server.js'
import { until } from '../support/waiting.js'

const TIERS = ['working', 'episodic', 'semantic', 'procedural']
const patient = { timeout: '30s' }

/** A store for each tier. */
function builtIn(): Promise<ConfigFile> {
  const stores = TIERS.map((name) => [name, { store: 'sqlite', path: `${name}.db`, ...patient }])
  const tiers = TIERS.map((name) => [name, { upstream: name }])
  return Promise.resolve({
    upstreams: Object.fromEntries(stores),
    tiers: Object.fromEntries(tiers),
  })
}

/** Two stores of others, which go on when the gateway dies, and two of ours. */
async function mixed(): Promise<ConfigFile> {
  const { upstreams, tiers } = (await builtIn()) as { upstreams: object; tiers: object }
  const others = await Promise.all([PlainServer.start(KEYED), PlainServer.start(KEYED)])
  const [working, semantic] = others.map(({ url }) => ({ url, ...patient }))
  return { upstreams: { ...upstreams, working, semantic }, tiers }
}

const KINDS: [string, () => Promise<ConfigFile>][] = [
  ['built-in stores', builtIn],
  ['stores of others too', mixed],
]

const fetched = async (gateway: Gateway, key: string) =>
  (await gateway.call('memory/fetch', { key })).record

describe.each(KINDS)('keys over HTTP, with %s', (_, configure) => {
  test('one record a key, wherever it is sent, and over a restart', async () => {
    const config = await configure()
    const cwd = emptyFolder()
    let gateway = await startGateway(config, { cwd })
    const { capabilities, methods } = await gateway.call('memory/describe')
    expect(capabilities).toContain('keys')
    expect(methods).toContain('memory/fetch')
    const id = await gateway.remember({ key: 'user/city', content: 'Rome' })
    for (const [index, tier] of [...TIERS, 'working', undefined].entries()) {
      const entry = { key: 'user/city', content: `city ${index}`, ...(tier && { tier }) }
      expect(await gateway.remember(entry)).toBe(id)
    }
    expect(await gateway.stop()).toBe(0)
    gateway = await startGateway(config, { cwd })
    expect(await fetched(gateway, 'user/city')).toMatchObject({
      id,
      content: 'city 5',
      revision: 6,
      tier: 'working',
    })
    expect(await gateway.contentsOf({ key_prefix: 'user/' })).toEqual(['city 5'])
    expect(await gateway.call('memory/forget', { key_prefix: 'user' })).toEqual({ forgotten: 1 })
    expect(await fetched(gateway, 'user/city')).toBeNull()
  })

  test('fifty writers on one key, some to other tiers, leave one record at revision 49', async () => {
    const gateway = await startGateway(await configure())
    const writers = Array.from({ length: 50 }, (__, n) => {
      const tier = n % 5 === 0 ? TIERS[(n / 5) % 4] : undefined
      return gateway.remember({ key: 'k', content: `${n}`, ...(tier && { tier }) })
    })
    const ids = new Set(await Promise.all(writers))
    expect(ids.size).toBe(1)
    expect(await fetched(gateway, 'k')).toMatchObject({ id: [...ids][0], revision: 49 })
    expect(await gateway.contentsOf()).toHaveLength(1)
  })

  test('kill -9 under writes: what was confirmed stands, batches whole, each key once', async () => {
    const config = await configure()
    const cwd = emptyFolder()
    const confirmed = new Map<string, number>()
    let gateway = await startGateway(config, { cwd })
    for (const enough of [15, 40]) {
      const { count, over } = load(gateway, confirmed)
      await until(() => count() >= enough)
      await gateway.kill()
      await over
      gateway = await startGateway(config, { cwd })
      await until(async () => (await misfits(gateway, confirmed)).length === 0)
    }
  })
})

/** Writers of batches over two upstreams, and of keys that go from tier to tier; each goes on until the gateway is gone. */
function load(gateway: Gateway, confirmed: Map<string, number>) {
  let count = 0
  const writers = Array.from({ length: 6 }, async (_, writer) => {
    const name = writer % 2 === 0 ? `batch/${writer}` : `single/${writer}`
    for (let turn = (confirmed.get(name) ?? -1) + 1; ; turn++) {
      try {
        await gateway.call('memory/remember', { records: recordsOf(name, turn) })
      } catch {
        return
      }
      confirmed.set(name, turn)
      count++
    }
  })
  return { count: () => count, over: Promise.all(writers) }
}

function recordsOf(name: string, turn: number): object[] {
  const content = `${turn}`
  if (name.startsWith('single')) return [{ key: name, content, tier: TIERS[turn % 4] }]
  return ['working', 'episodic'].map((tier) => ({ key: `${name}/${tier}`, content, tier }))
}

/** What is not as it should be: keys with several records, torn batches, confirmed writes that are gone. */
async function misfits(
  gateway: Gateway,
  confirmed: ReadonlyMap<string, number>,
): Promise<string[]> {
  const { records } = await gateway.call('memory/timeline', { limit: 0 })
  const contents = new Map(records.map(({ key = '', content }) => [key, Number(content)]))
  const twice = contents.size === records.length ? [] : ['a key has several records']
  const wrong = [...confirmed].filter(([name, turn]) => {
    const keys = name.startsWith('single') ? [name] : [`${name}/working`, `${name}/episodic`]
    const [first = -1, second = first] = keys.map((key) => contents.get(key) ?? -1)
    return first !== second || first < turn || first > turn + 1
  })
  return [...twice, ...wrong.map(([name]) => name)]
}

test('each caller has keys of its own, and reads nobody else’s', async () => {
  const auth = { keys: [keyEntry('alice'), keyEntry('bob'), keyEntry('ops', '*')] }
  const gateway = await startGateway({ ...(await builtIn()), auth })
  const of = (name: string) => ({ key: `key-of-${name}-0123456789` })
  await gateway.remember({ key: 'k', content: 'of alice', tier: 'semantic' }, of('alice'))
  await gateway.remember({ key: 'k', content: 'of bob' }, of('bob'))
  const read = async (name: string, params: object = {}) =>
    (await gateway.call('memory/fetch', { key: 'k', ...params }, of(name))).record
  expect(await read('alice')).toMatchObject({ content: 'of alice', revision: 0 })
  expect(await read('bob')).toMatchObject({ content: 'of bob', revision: 0 })
  expect(await read('ops', { owner: 'alice' })).toMatchObject({ content: 'of alice' })
  const denied = await read('bob', { owner: 'alice' }).catch((error: A2mError) => error)
  expect(denied).toMatchObject({ code: -32005 })
  expect(await gateway.call('memory/forget', { key_prefix: 'k' }, of('bob'))).toEqual({
    forgotten: 1,
  })
  expect(await read('alice')).toMatchObject({ content: 'of alice' })
})
