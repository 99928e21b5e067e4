import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { emptyFolder } from '../support/gateway-process.js'
import { type Gateway, startGateway } from '../support/gateway-under-test.js'
import { callsAt, usageAt } from '../support/metered-gateway.js'
import { startPostgres } from '../support/services.js'
import { until } from '../support/waiting.js'

/** As a configuration has it read. */
const FROM_ENVIRONMENT = ['$', '{LEDGER}'].join('')
const LOST = 'a2m_usage_lost_events_total'
const HELD = 'a2m_usage_held_events'
const SPOOLED = 'a2m_usage_spool_bytes'

/** A disk of its own for the spool; undefined where this user may not mount one. */
function smallDisk(cwd: string): { fill(): void; clear(): void } | undefined {
  const folder = join(cwd, 'data', 'usage')
  mkdirSync(folder, { recursive: true })
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    return undefined
  }
  onTestFinished(() => void execFileSync('umount', ['-l', folder]))
  const ballast = join(folder, 'ballast')
  return {
    fill() {
      for (const size of [262_144, 4096]) {
        try {
          writeFileSync(ballast, Buffer.alloc(size), { flag: 'a' })
        } catch {
          // As much as there was room for is there.
        }
      }
    },
    clear: () => rmSync(ballast),
  }
}

async function recall(gateway: Gateway, times: number): Promise<void> {
  for (let turn = 0; turn < times; turn++) await gateway.call('memory/recall')
}

describe('a spool on a full disk', () => {
  const usage = { held_events: 30, spool: { interval: '100ms' } }

  test('calls go on, what has room is kept, what is lost is counted, nothing counts twice', async (context) => {
    const cwd = emptyFolder()
    const disk = smallDisk(cwd)
    if (disk === undefined) return context.skip()
    const log = { level: 'error' }
    const gateway = await startGateway({ usage, log }, { cwd })
    await recall(gateway, 5)
    disk.fill()
    await recall(gateway, 500)
    await until(async () => (await gateway.metric(LOST)) > 0)
    expect(await gateway.metric(HELD)).toBe(30)
    expect(gateway.program.stderr).toMatch(/ENOSPC|disk is full/)
    expect(gateway.program.stderr).toContain('usage is lost')
    disk.clear()
    await until(async () => (await gateway.metric(HELD)) === 0)
    await recall(gateway, 5)
    const lost = await gateway.metric(LOST)
    expect(await callsAt(gateway)).toBe(510 - lost)
  })

  test('with on_failure: stop, calls are refused and say why until there is room', async (context) => {
    const cwd = emptyFolder()
    const disk = smallDisk(cwd)
    if (disk === undefined) return context.skip()
    const gateway = await startGateway({ usage: { ...usage, on_failure: 'stop' } }, { cwd })
    disk.fill()
    const refused = async () =>
      gateway.call('memory/recall').then(
        () => undefined,
        (thrown: unknown) => thrown,
      )
    let answered = 0
    await until(async () => {
      const error = await refused()
      if (error === undefined) answered++
      return error !== undefined
    })
    expect(await refused()).toMatchObject({
      code: -32603,
      message: expect.stringContaining('usage cannot be recorded'),
    })
    disk.clear()
    await until(async () => (await refused()) === undefined)
    expect(await gateway.metric(LOST)).toBe(0)
    expect(await callsAt(gateway)).toBe(answered + 1)
  })
})

describe('a ledger that several gateways share', () => {
  test('counts for all of them; while it is away calls go on, and it is given all when it is back', async () => {
    const server = await startPostgres()
    const usage = { ledger: { postgres: server.url, timeout: '1s' }, spool: { interval: '100ms' } }
    const [one, two] = await Promise.all([startGateway({ usage }), startGateway({ usage })])
    await Promise.all([recall(one, 10), recall(two, 15)])
    await until(async () => (await callsAt(one)) === 25)
    await server.stop()
    await Promise.all([recall(one, 20), recall(two, 5)])
    await until(async () => (await one.metric(SPOOLED)) > 0)
    const away = await fetch(new URL('/usage', one.admin))
    expect([away.status, await away.text()]).toEqual([503, expect.stringContaining('error')])
    await server.start()
    await until(async () => {
      await Promise.all([usageAt(one), usageAt(two)].map((asked) => asked.catch(() => {})))
      return (await callsAt(two).catch(() => 0)) === 50
    })
    expect(await one.stop()).toBe(0)
    expect(await callsAt(two)).toBe(50)
  })

  test('nobody sees its password', async () => {
    const secret = 'correct-horse-battery'
    const cwd = emptyFolder()
    const usage = {
      ledger: { postgres: FROM_ENVIRONMENT, timeout: '1s' },
      spool: { interval: '50ms' },
    }
    const env = { LEDGER: `postgres://u:${secret}@127.0.0.1:1/none` }
    const gateway = await startGateway({ usage, log: { level: 'debug' } }, { cwd, env })
    await recall(gateway, 1)
    await until(() => gateway.program.stderr.includes('cannot be brought into the ledger'))
    const page = await fetch(new URL('/usage', gateway.admin))
    expect(page.status).toBe(503)
    expect(await page.text()).not.toContain(secret)
    expect(gateway.program.stderr).not.toContain(secret)
    expect(readFileSync(join(cwd, 'gateway.yaml'), 'utf8')).not.toContain(secret)
  })
})

test('a ledger that is no ledger: calls go on, usage waits on disk, and it is said why', async () => {
  const cwd = emptyFolder()
  mkdirSync(join(cwd, 'data'))
  writeFileSync(join(cwd, 'data', 'usage.db'), 'this was never a database, whatever its name says')
  const gateway = await startGateway(
    { usage: { spool: { interval: '50ms' } }, log: { level: 'error' } },
    { cwd },
  )
  await recall(gateway, 3)
  await until(() => gateway.program.stderr.includes('usage.db as a ledger'))
  rmSync(join(cwd, 'data', 'usage.db'))
  await until(async () => (await callsAt(gateway).catch(() => 0)) === 3)
})
