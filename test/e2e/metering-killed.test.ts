import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { emptyFolder, run } from '../support/gateway-process.js'
import { configIn, type Gateway, startGateway } from '../support/gateway-under-test.js'
import { callsAt, Load, usageIn } from '../support/metered-gateway.js'
import { until } from '../support/waiting.js'

const CALLERS = 6

async function loaded(gateway: Gateway, enough: number): Promise<Load> {
  const load = new Load(gateway, CALLERS)
  await until(() => load.answered >= enough)
  return load
}

describe('usage through the end of a process', () => {
  test('kill -9: at least what was answered, at most what was sent, and the same after each start', async () => {
    const cwd = emptyFolder()
    let [sent, answered] = [0, 0]
    for (const enough of [20, 50]) {
      const gateway = await startGateway({}, { cwd })
      const load = await loaded(gateway, enough)
      await gateway.kill()
      await load.end()
      sent += load.sent
      answered += load.answered
    }
    const again = await startGateway({}, { cwd })
    const counted = await callsAt(again)
    expect(counted).toBeGreaterThanOrEqual(answered)
    expect(counted).toBeLessThanOrEqual(sent)
    await again.kill()
    const third = await startGateway({}, { cwd })
    expect(await callsAt(third)).toBe(counted)
  })

  test('a quiet stop: clients, spool and ledger agree to the call', async () => {
    const cwd = emptyFolder()
    const gateway = await startGateway({ durability: 'full' }, { cwd })
    const load = await loaded(gateway, 40)
    await load.end()
    expect(load.answered).toBe(load.sent)
    expect(await gateway.stop()).toBe(0)
    const { totals } = await usageIn(cwd, '--by', 'method')
    expect(totals['calls']).toBe(load.sent)
    expect(totals['records_in']).toBe(Math.floor(load.sent / 4))
    expect(spooled(cwd)).toEqual([])
  })

  test('calls that are under way when it is stopped are finished and counted', async () => {
    const cwd = emptyFolder()
    const gateway = await startGateway({}, { cwd })
    const load = await loaded(gateway, 15)
    await Promise.all([gateway.stop(), load.end()])
    const counted = (await usageIn(cwd)).totals['calls'] ?? 0
    expect(counted).toBeGreaterThanOrEqual(load.answered)
    expect(counted).toBeLessThanOrEqual(load.sent)
  })

  test('what is called over stdio is counted too', async () => {
    const cwd = emptyFolder()
    const input = [1, 2, 3]
      .map((id) => `{"jsonrpc":"2.0","id":${id},"method":"memory/recall"}\n`)
      .join('')
    const { code } = await run(['stdio', '--config', configIn(cwd, {})], { cwd, input })
    expect(code).toBe(0)
    expect((await usageIn(cwd, '--by', 'method')).lines).toMatchObject([
      { method: 'memory/recall', calls: 3 },
    ])
  })
})

function spooled(cwd: string): string[] {
  const folder = join(cwd, 'data', 'usage')
  return readdirSync(folder).filter((name) => name.endsWith('.jsonl'))
}
