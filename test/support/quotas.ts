import { Limiter, type LimiterEvents } from '../../src/metering/limiter.js'
import { createQuota, type QuotaDefinition } from '../../src/metering/quota.js'
import type { QuotaFile } from '../../src/metering/quota-file.js'
import { LocalStore } from '../../src/metering/quota-local.js'
import { StockRoom } from '../../src/metering/quota-stock.js'
import type { QuotaStore, StoreEvents } from '../../src/metering/quota-store.js'
import { QuotaTime } from '../../src/metering/quota-window.js'
import type { Clock } from '../../src/protocol/time.js'

/** Wall time that a test sets; the monotonic clock goes along, but never back. */
export class WallClock implements Clock {
  #now: number
  #monotonic = 0

  constructor(at: string) {
    this.#now = Date.parse(at)
  }

  now(): number {
    return this.#now
  }

  monotonic(): number {
    return this.#monotonic
  }

  set(at: string): void {
    this.pass(Date.parse(at) - this.#now)
  }

  pass(ms: number): void {
    this.#now += ms
    this.#monotonic += Math.max(0, ms)
  }
}

export const MINUTE = 60_000

/** A limit of 100 calls a minute for each caller, but for what is said otherwise. */
export function quota(fields: Partial<QuotaDefinition> = {}): QuotaDefinition {
  return {
    name: 'q',
    of: 'calls',
    per: 'caller',
    window: MINUTE,
    limit: 100,
    soft: undefined,
    mode: 'enforce',
    callers: undefined,
    roles: undefined,
    owners: undefined,
    methods: undefined,
    ...fields,
  }
}

/** What happened to limits, in words. */
export class QuotaLog implements LimiterEvents, StoreEvents {
  readonly lines: string[] = []

  refused({ quota, subject }: Parameters<LimiterEvents['refused']>[0], used: number): void {
    this.lines.push(`refused ${quota.name} ${subject} ${used}`)
  }

  shadowed({ quota, subject }: Parameters<LimiterEvents['refused']>[0], used: number): void {
    this.lines.push(`shadowed ${quota.name} ${subject} ${used}`)
  }

  warned({ quota, subject }: Parameters<LimiterEvents['refused']>[0], used: number): void {
    this.lines.push(`warned ${quota.name} ${subject} ${used}`)
  }

  alone(): void {
    this.lines.push('alone')
  }

  store(state: string): void {
    this.lines.push(`store ${state}`)
  }

  of(kind: string): readonly string[] {
    return this.lines.filter((line) => line.startsWith(kind))
  }
}

export interface Limited {
  readonly quotas: readonly Partial<QuotaDefinition>[]
  readonly clock?: Clock
  readonly file?: QuotaFile
  readonly store?: QuotaStore
  readonly log?: QuotaLog
}

/** A limiter that counts in memory unless told where. */
export function limiterOf({ quotas, clock = NOON, file, store, log }: Limited): Limiter {
  const events = log ?? new QuotaLog()
  return new Limiter({
    quotas: quotas.map((fields) => createQuota(quota(fields))),
    store: store ?? new LocalStore({ file, clock, events }),
    stock: new StockRoom(clock),
    time: new QuotaTime(clock, file?.since() ?? 0),
    events,
  })
}

/** A clock that stands still at noon. */
const NOON: Clock = { now: () => Date.parse('2027-03-10T12:00:00Z'), monotonic: () => 0 }
