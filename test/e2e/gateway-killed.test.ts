import { describe, expect, test } from 'vitest'
import { emptyFolder } from '../support/gateway-process.js'
import { type ConfigFile, type Gateway, startGateway } from '../support/gateway-under-test.js'
import { PlainServer } from '../support/plain-server.js'
import { until } from '../support/waiting.js'

const WRITERS = 8
const TIERS = { one: { upstream: 'one' }, two: { upstream: 'two' } }

/** The stores die with the gateway. */
async function builtIn(): Promise<ConfigFile> {
  const store = (name: string) => ({ store: 'sqlite', path: `${name}.db` })
  return { upstreams: { one: store('one'), two: store('two') }, tiers: TIERS }
}

/** The stores go on, with half of what the gateway was about. */
async function elsewhere(): Promise<ConfigFile> {
  const [one, two] = [await PlainServer.start(), await PlainServer.start()]
  return { upstreams: { one: { url: one.url }, two: { url: two.url } }, tiers: TIERS }
}

/** What was confirmed, by content. */
interface Load {
  readonly confirmed: Set<string>
  readonly over: Promise<unknown>
}

/** Writers that go on until the gateway is gone: single records, and batches over both upstreams. */
function load(gateway: Gateway): Load {
  const confirmed = new Set<string>()
  const writers = Array.from({ length: WRITERS }, async (_, writer) => {
    for (let turn = 0; ; turn++) {
      const name = `${writer % 2 === 0 ? 'batch' : 'single'} ${writer}-${turn}`
      const records = recordsOf(name, writer)
      try {
        await gateway.call('memory/remember', { records })
      } catch {
        return
      }
      confirmed.add(name)
    }
  })
  return { confirmed, over: Promise.all(writers) }
}

/** A quarter of the writers give ids of their own. */
function recordsOf(name: string, writer: number): object[] {
  const batch = writer % 2 === 0
  const named = writer % 4 === 1 ? { id: name } : {}
  return batch
    ? ['one', 'two', 'one'].map((tier) => ({ content: name, tier }))
    : [{ content: name, tier: writer % 3 === 0 ? 'one' : 'two', ...named }]
}

async function countsOf(gateway: Gateway): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const content of await gateway.contentsOf()) {
    counts.set(content, (counts.get(content) ?? 0) + 1)
  }
  return counts
}

function torn(counts: ReadonlyMap<string, number>): [string, number][] {
  return [...counts].filter(([name, count]) => count !== (name.startsWith('batch') ? 3 : 1))
}

describe.each([
  ['built-in stores', builtIn],
  ['stores elsewhere', elsewhere],
])('kill -9 under writes, with %s', (_, configure) => {
  test('what was confirmed is there once; a batch is there whole or not at all', async () => {
    const cwd = emptyFolder()
    const config = await configure()
    let gateway = await startGateway(config, { cwd })
    const confirmed = new Set<string>()
    for (const enough of [15, 40]) {
      const { confirmed: here, over } = load(gateway)
      await until(() => here.size >= enough)
      await gateway.kill()
      await over
      for (const name of here) confirmed.add(name)
      gateway = await startGateway(config, { cwd })
      await until(async () => torn(await countsOf(gateway)).length === 0)
      const counts = await countsOf(gateway)
      expect([...confirmed].filter((name) => !counts.has(name))).toEqual([])
      await gateway.call('memory/forget', { where: { tier: ['one', 'two'] } })
      confirmed.clear()
    }
    expect(await gateway.stop()).toBe(0)
  })
})
