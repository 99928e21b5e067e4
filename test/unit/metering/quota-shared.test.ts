import { randomUUID } from 'node:crypto'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { Limiter } from '../../../src/metering/limiter.js'
import { createQuota, type QuotaDefinition } from '../../../src/metering/quota.js'
import type { Charge } from '../../../src/metering/quota-charges.js'
import type {
  RemoteAnswer,
  RemoteCounts,
  RemoteRaise,
  RemoteTake,
} from '../../../src/metering/quota-redis.js'
import { SharedStore, type SharedStoreOptions } from '../../../src/metering/quota-shared.js'
import { StockRoom } from '../../../src/metering/quota-stock.js'
import { QuotaTime, spanAt } from '../../../src/metering/quota-window.js'
import { MINUTE, QuotaLog, quota, WallClock } from '../../support/quotas.js'
import { until } from '../../support/waiting.js'

const CLOCK = new WallClock('2027-03-10T12:00:00Z')

/** Counts as Redis would keep them; `mode` says how it answers. */
class Remote implements RemoteCounts {
  readonly counts = new Map<string, number>()
  /** The part of a count that was known before all was forgotten. */
  readonly before = new Map<string, number>()
  mode: 'answers' | 'refuses' | 'hangs' = 'answers'
  #held: (() => void)[] = []
  #mark: string | undefined

  reserve(takes: readonly RemoteTake[]): Promise<RemoteAnswer> {
    return this.#answer(() => {
      const used = takes.map(({ key }) => this.counts.get(key) ?? 0)
      const by = takes.findIndex(
        ({ amount, limit }, index) => limit !== undefined && (used[index] ?? 0) + amount > limit,
      )
      if (by >= 0) return { by, used }
      for (const { key, amount } of takes) this.#add(key, amount)
      return { by: undefined, used: takes.map(({ key }) => this.counts.get(key) ?? 0) }
    })
  }

  settle(takes: readonly Pick<RemoteTake, 'key' | 'amount'>[]): Promise<unknown> {
    return this.#answer(() => {
      for (const { key, amount } of takes) this.#add(key, amount)
    })
  }

  claim(key: string): Promise<boolean> {
    return this.#answer(() => {
      const known = this.counts.has(key)
      this.counts.set(key, 1)
      return !known
    })
  }

  raise(takes: readonly RemoteRaise[], counts: 'kept' | 'lost'): Promise<readonly number[]> {
    return this.#answer(() =>
      takes.map(({ key, known, amount }) => {
        const before = this.before.get(key) ?? 0
        const least = counts === 'lost' ? known : known - (this.counts.get(key) ?? 0) + before
        this.before.set(key, Math.max(before, least))
        this.#add(key, amount + Math.max(0, least - before))
        return this.counts.get(key) ?? 0
      }),
    )
  }

  mark(_key: string, mark: string): Promise<string> {
    return this.#answer(() => {
      this.#mark ??= mark
      return this.#mark
    })
  }

  forgetAll(): void {
    this.counts.clear()
    this.before.clear()
    this.#mark = undefined
  }

  close(): void {}

  /** Does now what it was asked while it hung. */
  letGo(): void {
    this.mode = 'answers'
    for (const go of this.#held.splice(0)) go()
  }

  #add(key: string, amount: number): void {
    this.counts.set(key, (this.counts.get(key) ?? 0) + amount)
  }

  #answer<T>(act: () => T): Promise<T> {
    if (this.mode === 'refuses') return Promise.reject(new Error('gone'))
    if (this.mode === 'answers') return Promise.resolve(act())
    return new Promise((resolve) => this.#held.push(() => resolve(act())))
  }
}

function charge(amount = 1, fields: Partial<QuotaDefinition> = {}): Charge {
  const of = createQuota(quota(fields))
  const span = spanAt(of.window, CLOCK.now())
  return { quota: of, subject: 'alice', owner: undefined, span, amount }
}

const KEY = `{a2m}:quota:q/calls/caller:${spanAt(MINUTE, CLOCK.now()).start}:alice`

async function storeOn(remote: Remote, options: Partial<SharedStoreOptions> = {}) {
  const log = new QuotaLog()
  const store = new SharedStore({
    remote,
    prefix: 'a2m',
    timeout: 20,
    onFailure: 'local',
    gateways: 2,
    clock: CLOCK,
    newMark: randomUUID,
    events: log,
    ...options,
  })
  onTestFinished(() => store.close())
  await store.open()
  return { store, log }
}

/** Takes one after another, as many as are granted. */
async function takeAll(store: SharedStore): Promise<number> {
  for (let taken = 0; ; taken++) {
    if ((await store.reserve([charge()])).kind !== 'granted') return taken
    if (taken > 1000) return taken
  }
}

const back = (log: QuotaLog) => until(() => log.lines.at(-1) === 'store up')

describe('while the counts are away', () => {
  test('closed decides nothing', async () => {
    const remote = new Remote()
    const { store, log } = await storeOn(remote, { onFailure: 'closed' })
    remote.mode = 'refuses'
    expect((await store.reserve([charge()])).kind).toBe('undecided')
    expect(log.lines).toEqual(['store down', 'alone'])
  })

  test('open lets everything through, and everything is counted in the end', async () => {
    const remote = new Remote()
    const { store, log } = await storeOn(remote, { onFailure: 'open' })
    await store.reserve([charge(90)])
    remote.mode = 'refuses'
    for (let call = 0; call < 50; call++) {
      expect((await store.reserve([charge()])).kind).toBe('granted')
    }
    remote.mode = 'answers'
    await back(log)
    expect(remote.counts.get(KEY)).toBe(140)
    expect((await store.reserve([charge()])).kind).toBe('refused')
  })

  test('local gives this gateway’s part of what was left', async () => {
    const remote = new Remote()
    const { store, log } = await storeOn(remote)
    await store.reserve([charge(41)])
    remote.mode = 'refuses'
    expect(await takeAll(store)).toBe(29)
    const refused = await store.reserve([charge()])
    expect(refused).toMatchObject({ kind: 'refused', by: 0, used: [100] })
    expect(refused).toHaveProperty('share', { size: 29, used: 70 })
    expect(log.of('store')).toEqual(['store down'])
    remote.mode = 'answers'
    await back(log)
    expect(remote.counts.get(KEY)).toBe(70)
    expect(await takeAll(store)).toBe(30)
  })

  test('a caller is told the share that is used up, and what is used of the limit', async () => {
    const remote = new Remote()
    const { store, log } = await storeOn(remote, { gateways: 3 })
    remote.mode = 'refuses'
    const limiter = new Limiter({
      quotas: [],
      store,
      stock: new StockRoom(CLOCK),
      time: new QuotaTime(CLOCK, 0),
      events: log,
    })
    const dataOf = async (max: number) => {
      const admission = await limiter.admit([charge(1, { limit: max })], async () => 0)
      return admission.kind === 'turned_away' ? admission.error : admission.kind
    }
    expect([await dataOf(6), await dataOf(6)]).toEqual(['admitted', 'admitted'])
    const refused = await dataOf(6)
    expect(refused).toMatchObject({ data: { max: 6, share: 2, used: 2, asked: 1 } })
    expect(refused).toHaveProperty('message', expect.stringContaining("this one's share, 2, of"))
    remote.mode = 'answers'
    await back(log)
    expect(await dataOf(2)).not.toHaveProperty('data.share')
    expect(await dataOf(2)).toMatchObject({ data: { max: 2, used: 2 } })
  })

  test('a limit that was used up before is told as that', async () => {
    const remote = new Remote()
    const { store } = await storeOn(remote)
    await store.reserve([charge(100)])
    remote.mode = 'refuses'
    const refused = await store.reserve([charge()])
    expect(refused).toEqual({ kind: 'refused', by: 0, used: [100], share: undefined })
  })

  test('two gateways together never pass a limit of which nothing was used', async () => {
    const remote = new Remote()
    const [one, other] = [await storeOn(remote), await storeOn(remote)]
    remote.mode = 'refuses'
    expect([await takeAll(one.store), await takeAll(other.store)]).toEqual([50, 50])
    remote.mode = 'answers'
    await Promise.all([back(one.log), back(other.log)])
    expect(remote.counts.get(KEY)).toBe(100)
  })

  test('what is given back meanwhile is not owed', async () => {
    const remote = new Remote()
    const { store, log } = await storeOn(remote)
    const before = await store.reserve([charge(10)])
    remote.mode = 'refuses'
    await store.reserve([charge(2)])
    if (before.kind === 'granted') before.settle([0])
    remote.mode = 'answers'
    await back(log)
    expect(remote.counts.get(KEY)).toBe(2)
  })

  test('no shadow limit refuses', async () => {
    const remote = new Remote()
    const { store } = await storeOn(remote)
    remote.mode = 'refuses'
    const shadow = charge(500, { mode: 'shadow' })
    expect((await store.reserve([shadow])).kind).toBe('granted')
  })

  test('nobody is told of a warning', async () => {
    const remote = new Remote()
    const { store, log } = await storeOn(remote)
    remote.mode = 'refuses'
    expect([await store.claim(charge()), await store.claim(charge())]).toEqual([false, false])
    remote.mode = 'answers'
    await back(log)
    expect([await store.claim(charge()), await store.claim(charge())]).toEqual([true, false])
  })
})

describe('counts that hang', () => {
  test('are waited for once and for no longer than is configured', async () => {
    const remote = new Remote()
    const { store, log } = await storeOn(remote)
    remote.mode = 'hangs'
    const begun = performance.now()
    await Promise.all(Array.from({ length: 20 }, () => store.reserve([charge()])))
    for (let call = 0; call < 20; call++) await store.reserve([charge()])
    expect(performance.now() - begun).toBeLessThan(500)
    expect(log.of('alone')).toHaveLength(40)
  })

  test('and answer late have their takings taken back', async () => {
    const remote = new Remote()
    const { store, log } = await storeOn(remote)
    remote.mode = 'hangs'
    await store.reserve([charge(5)])
    remote.letGo()
    await back(log)
    expect(remote.counts.get(KEY)).toBe(5)
  })

  test('a process that was too busy to look does not take them to be away', async () => {
    const remote = new Remote()
    const { store, log } = await storeOn(remote)
    remote.mode = 'hangs'
    const reserved = store.reserve([charge()])
    setImmediate(() => remote.letGo())
    const busy = performance.now() + 60
    while (performance.now() < busy);
    expect((await reserved).kind).toBe('granted')
    expect(log.lines).toEqual([])
  })
})

describe('counts that were lost', () => {
  test('are raised to what is known here', async () => {
    const remote = new Remote()
    const { store, log } = await storeOn(remote)
    await store.reserve([charge(60)])
    remote.forgetAll()
    store.lost('the connection is gone')
    await back(log)
    expect(remote.counts.get(KEY)).toBe(60)
  })

  test('by what every gateway knew together, and what each has taken since', async () => {
    const remote = new Remote()
    const [one, other] = [await storeOn(remote), await storeOn(remote)]
    await one.store.reserve([charge(41)])
    await other.store.reserve([charge(1)])
    remote.mode = 'refuses'
    expect([await takeAll(one.store), await takeAll(other.store)]).toEqual([29, 29])
    remote.forgetAll()
    remote.mode = 'answers'
    await Promise.all([back(one.log), back(other.log)])
    expect(remote.counts.get(KEY)).toBe(100)
  })

  test('an absence without loss adds nothing twice', async () => {
    const remote = new Remote()
    const { store, log } = await storeOn(remote)
    await store.reserve([charge(10)])
    for (let absence = 0; absence < 3; absence++) {
      remote.mode = 'refuses'
      await store.reserve([charge(1)])
      remote.mode = 'answers'
      await back(log)
    }
    expect(remote.counts.get(KEY)).toBe(13)
  })

  test('of 20,000 callers are there again within seconds', async () => {
    const remote = new Remote()
    const { store, log } = await storeOn(remote, { onFailure: 'open' })
    store.lost('gone')
    for (let caller = 0; caller < 20_000; caller++) {
      await store.reserve([{ ...charge(), subject: `caller-${caller}` }])
    }
    await back(log)
    expect(remote.counts.size).toBe(20_000)
  })
})

test('a closed store asks no more', async () => {
  const { store, log } = await storeOn(new Remote())
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  store.lost('gone')
  expect(vi.getTimerCount()).toBe(1)
  store.close()
  store.lost('gone again')
  expect(vi.getTimerCount()).toBe(0)
  expect(log.of('store')).toEqual(['store down'])
})
