import { describe, expect, onTestFinished, test } from 'vitest'
import { Nightly } from '../../../src/metering/nightly.js'
import { Stock, type TierStock } from '../../../src/metering/stock.js'
import type { StockCount } from '../../../src/metering/stock-sums.js'
import type { Owner } from '../../../src/protocol/scope.js'
import { until } from '../../support/waiting.js'

function setUp(count: (owner: Owner) => readonly TierStock[] = () => []) {
  const asked: [Owner, string][] = []
  const noted: StockCount[] = []
  const failures: string[] = []
  const stock = new Stock({
    source: 'gateway',
    now: () => 1000,
    count: async (owner, how) => {
      asked.push([owner, how])
      return count(owner)
    },
    note: async (counts) => void noted.push(...counts),
    defaultTier: () => 'working',
    failed: (reason) => failures.push(reason),
  })
  onTestFinished(() => stock.end())
  return { stock, asked, noted, failures }
}

const working = (records: number): TierStock => ({
  tier: 'working',
  records,
  characters: undefined,
})

describe('stock', () => {
  test('is counted once after a burst of writes, with what was written meanwhile', async () => {
    const { stock, asked, noted } = setUp(() => [working(5)])
    const records = [{ content: 'abc' }, { content: '日', tier: 'semantic' }]
    stock.done('memory/remember', { records }, 'alice')
    stock.done('memory/remember', { records: [{ content: 'd' }] }, 'alice')
    stock.done('memory/forget', { query: 'x' }, 'alice')
    await until(() => noted.length > 0)
    expect(asked).toEqual([['alice', 'records']])
    expect(noted).toEqual([
      {
        source: 'gateway',
        owner: '5:alice',
        tier: 'working',
        records: 5,
        characters: undefined,
        written: { records: 2, characters: 4 },
        at: 1000,
      },
    ])
  })

  test('of every owner of a batch is counted, and of nobody for what changes no records', async () => {
    const { stock, asked } = setUp()
    const records = [{ content: 'a', owner: 'x' }, { content: 'b' }]
    stock.done('memory/recall', {}, 'reader')
    stock.done('memory/reinforce', { ids: ['1'] }, 'user')
    stock.done('memory/remember', { records }, undefined)
    await until(() => asked.length === 2)
    expect(asked.map(([owner]) => owner)).toEqual(['x', null])
  })

  test('that cannot be counted is told of, and the next owner’s is counted all the same', async () => {
    const { stock, noted, failures } = setUp((owner) => {
      if (owner === 'bad') throw new Error('no answer')
      return [working(1)]
    })
    await stock.countAll(['3:bad', 'none:', '4:a:b:'])
    expect(failures).toEqual(['no answer'])
    expect(noted.map(({ owner }) => owner)).toEqual(['none:', '4:a:b:'])
  })
})

describe('nightly', () => {
  const HOUR = 3_600_000
  const MIDNIGHT = Date.UTC(2026, 0, 2)

  test('once a night, from its hour on, whatever the clock does', async () => {
    let now = MIDNIGHT + 10 * HOUR
    let runs = 0
    const task = async () => void runs++
    const nightly = new Nightly({ hour: 3, now: () => now, random: () => 0.5, task })
    const lookAt = async (hours: number) => {
      now = MIDNIGHT + hours * HOUR
      nightly.look()
      await nightly.end()
      return runs
    }
    expect(await lookAt(11)).toBe(0)
    expect(await lookAt(24 + 3.25)).toBe(0)
    expect(await lookAt(24 + 3.75)).toBe(1)
    expect(await lookAt(24 + 4)).toBe(1)
    expect(await lookAt(10)).toBe(1)
    expect(await lookAt(24 + 5)).toBe(1)
    expect(await lookAt(72 + 20)).toBe(2)
  })

  test('does not begin again while it is under way', async () => {
    let now = MIDNIGHT
    let [runs, finish] = [0, () => {}]
    const nightly = new Nightly({
      hour: 0,
      now: () => now,
      random: () => 0,
      task: () => {
        runs++
        return new Promise((resolve) => {
          finish = resolve
        })
      },
    })
    now += 24 * HOUR
    nightly.look()
    now += 24 * HOUR
    nightly.look()
    expect(runs).toBe(1)
    finish()
    await nightly.end()
  })
})
