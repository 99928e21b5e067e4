import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { AuditLog, type LineFile } from '../../../src/telemetry/audit-log.js'
import { createAuditMetrics } from '../../../src/telemetry/audit-metrics.js'
import type { Log } from '../../../src/telemetry/logs.js'
import { HandClock } from '../../support/hand-clock.js'

/** A disk that takes so many lines at once, or nothing while it is full. */
class Disk implements LineFile {
  readonly lines: string[] = []
  full = false
  closed = false
  portion = Infinity

  async append(lines: readonly string[]): Promise<number> {
    if (this.full) throw new Error('ENOSPC: no space left on device, write')
    const taken = lines.slice(0, this.portion)
    this.lines.push(...taken)
    return taken.length
  }

  async close(): Promise<void> {
    this.closed = true
  }
}

function setUp() {
  const clock = new HandClock()
  const disk = new Disk()
  const said: { level: string; fields: object; message: string }[] = []
  const say = (level: string) => (fields: object, message: string) => {
    said.push({ level, fields, message })
  }
  const log: Log = {
    error: say('error'),
    warn: say('warn'),
    info: say('info'),
    debug: say('debug'),
  }
  const registry = new Registry()
  const metrics = createAuditMetrics(registry)
  const audit = new AuditLog({ file: disk, log, clock, metrics, schedule: clock.schedule })
  const metric = async (name: string) =>
    (await registry.getSingleMetric(name)?.get())?.values[0]?.value
  return { clock, disk, said, audit, metric }
}

/** Lets what is under way come to its end. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
}

function read(lines: readonly string[]): unknown[] {
  return lines.map((line) => JSON.parse(line))
}

test('lines are written in their order, off the path of who writes them, with the time of each', async () => {
  const { clock, disk, audit, metric } = setUp()
  audit.write({ n: 1 })
  clock.pass(3)
  audit.write({ n: 2, nothing: undefined })
  expect(disk.lines).toEqual([])
  clock.pass(10)
  await settled()
  expect(disk.lines).toEqual([
    '{"at":"1970-01-01T00:00:01.000Z","n":1}\n',
    '{"at":"1970-01-01T00:00:01.003Z","n":2}\n',
  ])
  expect(await metric('a2m_audit_lines_total')).toBe(2)
  expect(clock.pending).toBe(0)
})

test('what does not go into one file goes into the next', async () => {
  const { clock, disk, audit } = setUp()
  disk.portion = 2
  for (let n = 0; n < 5; n++) audit.write({ n })
  clock.pass(10)
  await settled()
  expect(read(disk.lines)).toMatchObject([{ n: 0 }, { n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }])
})

test('closing writes what waits', async () => {
  const { disk, audit } = setUp()
  audit.write({ n: 1 })
  await audit.close()
  expect(read(disk.lines)).toMatchObject([{ n: 1 }])
  expect(disk.closed).toBe(true)
})

test('a full disk is said once, tried again, and nothing that waited is lost or told twice', async () => {
  const { clock, disk, said, audit, metric } = setUp()
  disk.full = true
  for (let n = 0; n < 3; n++) {
    audit.write({ n })
    clock.pass(1000)
    await settled()
    expect(audit.failing).toBe(true)
  }
  expect(await metric('a2m_audit_failing')).toBe(1)
  disk.full = false
  clock.pass(1000)
  await settled()
  expect(read(disk.lines)).toMatchObject([{ n: 0 }, { n: 1 }, { n: 2 }])
  expect(audit.failing).toBe(false)
  expect(await metric('a2m_audit_failing')).toBe(0)
  expect(await metric('a2m_audit_lost_lines_total')).toBe(0)
  expect(said.map(({ level, message }) => `${level}: ${message}`)).toEqual([
    'error: the audit log cannot be written',
    'warn: the audit log is written again',
  ])
})

test('what no memory can hold is lost, counted, and told in the log once it is written again', async () => {
  const { clock, disk, audit, metric } = setUp()
  disk.full = true
  const mebi = 'x'.repeat(1024 * 1024)
  for (let n = 0; n < 18; n++) audit.write({ n, mebi })
  clock.pass(10)
  await settled()
  disk.full = false
  clock.pass(1000)
  await settled()
  clock.pass(10)
  await settled()
  expect(await metric('a2m_audit_lost_lines_total')).toBe(3)
  expect(disk.lines).toHaveLength(16)
  expect(JSON.parse(disk.lines.at(-1) ?? '')).toMatchObject({ outcome: 'lost', times: 3 })
})

test('what a disk does not take at the end is counted as lost, and closing ends', async () => {
  const { disk, said, audit, metric } = setUp()
  disk.full = true
  audit.write({ n: 1 })
  audit.write({ n: 2 })
  await audit.close()
  expect(await metric('a2m_audit_lost_lines_total')).toBe(2)
  expect(said.at(-1)).toEqual({
    level: 'error',
    fields: { lost: 2 },
    message: 'lines of the audit log are lost',
  })
})
