import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createQuota, type QuotaDefinition } from '../../../src/metering/quota.js'
import type { Charge } from '../../../src/metering/quota-charges.js'
import { openQuotaFile, type QuotaFile } from '../../../src/metering/quota-file.js'
import { LocalStore } from '../../../src/metering/quota-local.js'
import { spanAt } from '../../../src/metering/quota-window.js'
import { emptyFolder } from '../../support/gateway-process.js'
import { MINUTE, QuotaLog, quota, WallClock } from '../../support/quotas.js'

const DAY = 24 * 60 * MINUTE
const CLOCK = new WallClock('2027-03-10T12:00:00Z')

function charge(amount: number, fields: Partial<QuotaDefinition> = {}, subject = 'alice'): Charge {
  const of = createQuota(quota({ window: DAY, limit: 1000, ...fields }))
  return { quota: of, subject, owner: undefined, span: spanAt(of.window, CLOCK.now()), amount }
}

interface Opened {
  readonly store: LocalStore
  readonly file: QuotaFile
  readonly log: QuotaLog
}

function open(path: string, clock = CLOCK): Opened {
  const file = openQuotaFile(path)
  const log = new QuotaLog()
  const store = new LocalStore({ file, clock, events: log })
  onTestFinished(() => store.close())
  return { store, file, log }
}

/** As a process leaves it that is killed: what is in memory is gone. */
function killed({ file }: Opened): void {
  file.close()
}

function used(store: LocalStore, of: Charge): number | undefined {
  return store.reserve([{ ...of, amount: 0 }]).used[0]
}

const path = (): string => join(emptyFolder(), 'quotas.db')

test('a quiet end keeps every count to the letter', () => {
  const at = path()
  const { store } = open(at)
  for (let call = 0; call < 137; call++) store.reserve([charge(1), charge(7, { name: 'r' })])
  store.close()
  const again = open(at).store
  expect([used(again, charge(1)), used(again, charge(1, { name: 'r' }))]).toEqual([137, 959])
})

test.each([1, 2, 20, 21, 137, 999])(
  'a kill after %i calls loses none, and adds a fiftieth of the limit at most',
  (calls) => {
    const at = path()
    const first = open(at)
    for (let call = 0; call < calls; call++) first.store.reserve([charge(1)])
    killed(first)
    const found = used(open(at).store, charge(1)) ?? 0
    expect(found).toBeGreaterThanOrEqual(calls)
    expect(found).toBeLessThanOrEqual(calls + 20)
  },
)

test('a small limit is exact after a kill', () => {
  const at = path()
  const first = open(at)
  const small = charge(1, { limit: 49 })
  for (let call = 0; call < 13; call++) first.store.reserve([small])
  killed(first)
  expect(used(open(at).store, small)).toBe(13)
})

test('the file is written fifty times a window and counter at most', () => {
  const real = openQuotaFile(path())
  let writes = 0
  const keep: QuotaFile['keep'] = (counts) => {
    writes++
    real.keep(counts)
  }
  const store = new LocalStore({ file: { ...real, keep }, clock: CLOCK, events: new QuotaLog() })
  onTestFinished(() => store.close())
  for (let call = 0; call < 1500; call++) store.reserve([charge(1)])
  expect(writes).toBeGreaterThan(40)
  expect(writes).toBeLessThanOrEqual(50)
})

test('what is settled upwards is kept before the call is answered, too', () => {
  const at = path()
  const first = open(at)
  const decision = first.store.reserve([charge(1)])
  if (decision.kind === 'granted') decision.settle([600])
  killed(first)
  expect(used(open(at).store, charge(1))).toBeGreaterThanOrEqual(600)
})

test('what was warned of is not told again after a kill', () => {
  const at = path()
  const first = open(at)
  first.store.reserve([charge(900)])
  expect([first.store.claim(charge(1)), first.store.claim(charge(1))]).toEqual([true, false])
  killed(first)
  const { store } = open(at)
  expect(store.claim(charge(1))).toBe(false)
  expect(used(store, charge(1))).toBeGreaterThanOrEqual(900)
})

test('another limit of the same name, or of another window, begins at nothing', () => {
  const at = path()
  const first = open(at)
  first.store.reserve([charge(5)])
  first.store.close()
  const { store } = open(at)
  expect(used(store, charge(1, { of: 'records' }))).toBe(0)
  expect(used(store, charge(1, { per: 'owner' }))).toBe(0)
  expect(used(store, charge(1, { window: 'month' }))).toBe(0)
  expect(used(store, charge(1, { limit: 5 }))).toBe(5)
})

test('a window that is over is taken out of the file once the clock cannot go back to it', () => {
  const at = path()
  const first = open(at)
  first.store.reserve([charge(5)])
  first.store.close()
  const file = openQuotaFile(at)
  onTestFinished(() => file.close())
  const end = spanAt(DAY, CLOCK.now()).end
  expect(file.since()).toBe(end - DAY)
  file.forget(end + DAY)
  expect(file.read(end)).toHaveLength(1)
  file.forget(end + DAY + 1)
  expect(file.read(0)).toHaveLength(0)
})

test('a file that cannot be written holds up no call, is told of once, and is caught up with', () => {
  const at = path()
  const real = openQuotaFile(at)
  let full = true
  const keep: QuotaFile['keep'] = (counts) => {
    if (full) throw new Error('the disk is full')
    real.keep(counts)
  }
  const log = new QuotaLog()
  const clock = new WallClock('2027-03-10T12:00:00Z')
  const store = new LocalStore({ file: { ...real, keep }, clock, events: log })
  for (let call = 0; call < 30; call++) expect(store.reserve([charge(1)]).kind).toBe('granted')
  expect(log.lines).toEqual(['store down'])
  full = false
  clock.pass(5000)
  store.reserve([charge(1)])
  expect(log.lines).toEqual(['store down', 'store up'])
  store.close()
  expect(used(open(at).store, charge(1))).toBe(31)
})

test('what is no database is an error that names the file', () => {
  const folder = emptyFolder()
  expect(() => openQuotaFile(folder)).toThrow(`cannot keep the counts of quotas in ${folder}`)
  expect(existsSync(folder)).toBe(true)
})
