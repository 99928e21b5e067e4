import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { Clearing } from '../../../src/metering/clearing.js'
import { printEvent } from '../../../src/metering/event.js'
import { segmentPath, takeLane } from '../../../src/metering/lane.js'
import type { Ledger } from '../../../src/metering/ledger.js'
import { Spool } from '../../../src/metering/spool.js'
import { systemFiles } from '../../../src/metering/spool-files.js'
import { openSqliteLedger } from '../../../src/metering/sqlite-ledger.js'
import { takeSegment } from '../../../src/metering/take.js'
import { usageEvent } from '../../support/usage-events.js'
import { until } from '../../support/waiting.js'

let folder: string
let ledger: Ledger

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'a2m-clearing-'))
  ledger = openSqliteLedger({ path: ':memory:', durability: 'normal' })
  onTestFinished(async () => {
    await ledger.close()
    rmSync(folder, { recursive: true, force: true })
  })
})

async function counted(): Promise<number | undefined> {
  const query = { by: ['caller'], from: 0, to: 1e6, where: {}, limit: 10 } as const
  return (await ledger.usage(query)).totals['calls']
}

describe('a segment', () => {
  const segment = { number: 7, path: '' }
  const written = (text: string) => {
    const path = segmentPath(folder, segment.number)
    writeFileSync(path, text)
    return { ...segment, path }
  }
  const lines = (count: number) =>
    Array.from({ length: count }, () => `${printEvent(usageEvent())}\n`).join('')

  test('is taken once, however often it is offered', async () => {
    const one = written(lines(2500))
    expect(await takeSegment(ledger, 'lane', one)).toMatchObject({ added: 2500, torn: 0 })
    expect(await takeSegment(ledger, 'lane', one)).toMatchObject({ added: 0, torn: 0 })
    expect(await counted()).toBe(2500)
  })

  test('is gone on with where a crash had cut its taking short', async () => {
    const all = lines(2500)
    const one = written(all)
    let batches = 0
    const dying: Ledger = Object.assign(Object.create(ledger), {
      position: (lane: string) => ledger.position(lane),
      add: (batch: Parameters<Ledger['add']>[0]) => {
        if (++batches === 2) throw new Error('killed')
        return ledger.add(batch)
      },
    })
    await expect(takeSegment(dying, 'lane', one)).rejects.toThrow('killed')
    expect(await counted()).toBe(1000)
    expect((await takeSegment(ledger, 'lane', one)).added).toBe(1500)
    expect(await ledger.position('lane')).toEqual({ segment: 7, position: all.length })
  })

  test('may end in half a line, which is left out and counted', async () => {
    const one = written(`${lines(3)}{"id":"torn`)
    expect(await takeSegment(ledger, 'lane', one)).toMatchObject({ added: 3, torn: 1 })
  })

  test('of an earlier number than the ledger has come to is done', async () => {
    await ledger.add({ lane: 'lane', segment: 8, position: 0, events: [] })
    expect(await takeSegment(ledger, 'lane', written(lines(3)))).toMatchObject({ added: 0 })
  })
})

describe('clearing', () => {
  function setUp(take: (path: string) => Promise<void> = async () => {}) {
    const lane = takeLane(join(folder, 'usage'), () => 'lane')
    onTestFinished(() => lane.close())
    const told: (string | undefined)[] = []
    const spool = new Spool({
      lane: () => lane,
      files: systemFiles(),
      durability: 'normal',
      segmentBytes: 1e6,
      maxBytes: 1e6,
      maxHeld: 10,
      retryMs: 10,
      monotonic: () => 0,
      events: { written: () => {}, lost: () => {}, failing: () => {} },
    })
    const clearing = new Clearing({
      spool,
      accounting: {
        async take(id, segment) {
          await take(segment.path)
          return takeSegment(ledger, id, segment)
        },
        deliver: async () => {},
        usage: (query) => ledger.usage(query),
        count: (counts) => ledger.count(counts),
        stock: (query) => ledger.stock(query),
        owners: (...args) => ledger.owners(...args),
        close: async () => {},
      },
      everyMs: 10,
      events: {
        cleared: () => {},
        removed: (bytes) => told.push(`removed ${bytes}`),
        failing: (reason) => told.push(reason),
      },
    })
    const append = () => spool.append(printEvent(usageEvent()))
    return { spool, clearing, append, told, folder: lane.folder }
  }

  const segmentsIn = (path: string) => readdirSync(path).filter((name) => name.endsWith('.jsonl'))

  test('brings all that was written into the ledger, and leaves nothing behind', async () => {
    const { clearing, spool, append, folder: path } = setUp()
    await append()
    await append()
    await clearing.now()
    expect(await counted()).toBe(2)
    await append()
    await spool.end()
    await clearing.end()
    expect([await counted(), segmentsIn(path)]).toEqual([3, []])
  })

  test('goes on with the next where somebody has removed a file, and tells of it once', async () => {
    const { clearing, spool, append, told } = setUp()
    await append()
    const [removed] = spool.rotate()
    rmSync(removed?.path ?? '')
    await append()
    await clearing.now()
    expect(told).toEqual([`removed ${removed?.bytes}`])
    expect([await counted(), spool.state.bytes]).toEqual([1, 0])
    await spool.end()
    await clearing.end()
  })

  test('goes on by itself', async () => {
    const { clearing, append, spool } = setUp()
    clearing.start()
    await append()
    await until(async () => (await counted()) === 1)
    await spool.end()
    await clearing.end()
  })

  test('says once that the ledger takes nothing, and once that it does again; nothing counts twice', async () => {
    let away = true
    const { clearing, append, told, spool } = setUp(async () => {
      if (away) throw new Error('away')
    })
    await append()
    await clearing.now()
    await append()
    await clearing.now()
    expect(told).toEqual(['away'])
    away = false
    await clearing.now()
    expect(told).toEqual(['away', undefined])
    expect(await counted()).toBe(2)
    await spool.end()
    await clearing.end()
  })
})
