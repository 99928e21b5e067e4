import { describe, expect, test } from 'vitest'
import { keyEntry, keyOf, startGateway } from '../support/gateway-under-test.js'
import { callsAt, usageAt } from '../support/metered-gateway.js'
import { onMethod, PlainServer } from '../support/plain-server.js'
import { until } from '../support/waiting.js'

describe('what is counted', () => {
  test('each call once, with the attempts that it took and the upstream that failed', async () => {
    const [good, bad] = [await PlainServer.start(), await PlainServer.start()]
    const settings = { access: 'read-only', retries: 2, breaker: { failures: 1000 } }
    const gateway = await startGateway({
      upstreams: { good: { url: good.url }, bad: { url: bad.url, ...settings } },
      tiers: { one: { upstream: 'good', also: ['bad'] } },
    })
    await gateway.up('good', 'bad')
    bad.conduct = onMethod('memory/recall', ({ response }) => response.destroy())
    const calls = 12
    for (let turn = 0; turn < calls; turn++) await gateway.call('memory/recall')
    await expect(gateway.call('memory/recall', { tier: 'none' })).rejects.toThrow()
    const { lines, totals } = await usageAt(gateway, 'by=outcome')
    expect(lines.map(({ outcome, calls: times }) => [outcome, times])).toEqual([
      ['ok', calls],
      ['UNKNOWN_TIER', 1],
    ])
    expect(totals['attempts']).toBe(4 * calls)
    const upstreams = await usageAt(gateway, 'by=upstream')
    expect(
      upstreams.lines.toSorted((a, b) => (`${a['upstream']}` < `${b['upstream']}` ? -1 : 1)),
    ).toMatchObject([
      { upstream: 'bad', calls, asks: calls, attempts: 3 * calls, failures: calls },
      { upstream: 'good', calls, asks: calls, attempts: calls, failures: 0 },
    ])
    expect(upstreams.totals['calls']).toBe(calls + 1)
  })

  test('a caller that leaves is one call that was hung up', async () => {
    const slow = await PlainServer.start()
    const gateway = await startGateway({
      upstreams: { slow: { url: slow.url, timeout: '2s', retries: 0 } },
      tiers: { one: { upstream: 'slow' } },
    })
    await gateway.up('slow')
    slow.conduct = onMethod('memory/recall', () => {})
    const leaving = new AbortController()
    const call = gateway.call('memory/recall', {}, { signal: leaving.signal })
    await slow.received('memory/recall')
    leaving.abort()
    await expect(call).rejects.toThrow()
    await until(async () => (await callsAt(gateway, 'outcome=hung_up')) === 1)
    expect(await callsAt(gateway)).toBe(1)
  })

  test('by caller and owner, and what each owner has, soon after it was written', async () => {
    const gateway = await startGateway({
      auth: { keys: [keyEntry('one', 'alice'), keyEntry('two', 'bob'), keyEntry('all', '*')] },
    })
    const write = (key: string, entry: object) => gateway.remember(entry, { key: keyOf(key) })
    await write('one', { content: 'four', tier: 'semantic' })
    await write('one', { content: '日本', tier: 'semantic' })
    await write('all', { content: 'of bob', tier: 'semantic', owner: 'bob' })
    await gateway.call('memory/recall', {}, { key: keyOf('two') })
    const { lines } = await usageAt(gateway, 'by=caller,owner')
    expect(lines.toSorted((a, b) => (`${a['caller']}` < `${b['caller']}` ? -1 : 1))).toMatchObject([
      { caller: 'all', owner: 'bob', records_in: 1, characters_in: 6 },
      { caller: 'one', owner: 'alice', records_in: 2, characters_in: 6, tokens: 2 },
      { caller: 'two', owner: 'bob', records_out: 1 },
    ])
    const stock = async (owner: string) => {
      const response = await fetch(new URL(`/usage/stock?owner=${owner}`, gateway.admin))
      return (await response.json()) as { totals: Record<string, number> }
    }
    await until(async () => (await stock('bob')).totals['records'] === 1)
    await until(async () => (await stock('alice')).totals['records'] === 2)
    expect((await stock('alice')).totals['characters']).toBe(6)
    await gateway.call('memory/forget', { query: 'four' }, { key: keyOf('one') })
    await until(async () => (await stock('alice')).totals['records'] === 1)
  })

  test('nothing of what was said or written, and nobody’s key', async () => {
    const gateway = await startGateway({ auth: { keys: [keyEntry('one', 'alice')] } })
    const calling = { key: keyOf('one') }
    await gateway.remember({ content: 'the secret content', metadata: { a: 'inner' } }, calling)
    await gateway.call('memory/recall', { query: 'secret question' }, calling)
    const told = JSON.stringify([
      await usageAt(gateway, 'by=caller,owner,method,tier,hour'),
      await gateway.metrics(),
    ])
    for (const word of ['secret', 'inner', keyOf('one')]) expect(told).not.toContain(word)
  })

  test('with usage: off nothing is kept and the admin listener says so', async () => {
    const gateway = await startGateway({ usage: 'off' })
    await gateway.call('memory/recall')
    const response = await fetch(new URL('/usage', gateway.admin))
    expect([response.status, await response.text()]).toEqual([
      404,
      expect.stringContaining('usage: off'),
    ])
    expect(await gateway.metrics()).not.toContain('a2m_usage')
  })
})
