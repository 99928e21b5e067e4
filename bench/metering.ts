import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import { AccountingThread } from '../src/metering/accounting-thread.js'
import { Clearing } from '../src/metering/clearing.js'
import { createEvents, printEvent } from '../src/metering/event.js'
import { createEventIds } from '../src/metering/event-ids.js'
import { takeLane } from '../src/metering/lane.js'
import { Spool } from '../src/metering/spool.js'
import { systemFiles } from '../src/metering/spool-files.js'
import { withMetering } from '../src/metering/with-metering.js'
import type { CallReport } from '../src/protocol/call-report.js'
import type { Context } from '../src/protocol/memory.js'
import type { Served } from '../src/protocol/serve.js'
import { systemClock } from '../src/protocol/time.js'
import type { Usage } from '../src/protocol/usage.js'
import { contextWithin } from '../test/support/contexts.js'

/*
 * What metering adds to a call in the main thread, and how long that thread is held up while the ledger takes a batch:
 *   npx tsx bench/metering.ts
 */

const CALLS = 50_000
const RECORDS = Array.from({ length: 8 }, (_, index) => ({
  id: `${index}`,
  content:
    'a record of some hundred characters, as an agent may have written it down some time ago, '.repeat(
      2,
    ),
  created_at: '2026-01-01T00:00:00.000Z',
  tier: index % 2 === 0 ? 'episodic' : 'semantic',
}))
const served: Served = {
  refusal: () => undefined,
  recognised: (_method, params) => params,
  call: async () => ({ records: RECORDS }) as never,
  close: async () => {},
}

const folder = mkdtempSync(join(tmpdir(), 'a2m-bench-'))
const newId = createEventIds(systemClock, (size) => randomBytes(size))
const lane = takeLane(join(folder, 'usage'), newId)
const spool = new Spool({
  lane: () => lane,
  files: systemFiles(),
  durability: 'normal',
  segmentBytes: 8 << 20,
  maxBytes: 1 << 30,
  maxHeld: 10_000,
  retryMs: 1000,
  monotonic: systemClock.monotonic,
  events: { written: () => {}, lost: () => {}, failing: () => {} },
})
const eventOf = createEvents({ newId, charactersPerToken: 4 })
const metered = withMetering(served, { tiers: () => [{ name: 'working' }] })

function reportOf(usage: Usage | undefined): CallReport {
  return {
    method: 'memory/recall',
    version: 'a2m/0.1',
    error: undefined,
    ms: 0.2,
    at: Date.now(),
    bytesIn: 100,
    bytesOut: 3000,
    asks: ['a', 'b', 'c'].map((upstream) => ({
      upstream,
      method: 'memory/recall',
      attempts: 1,
      state: 'ok',
      ms: 0.123,
      count: 8,
    })),
    caller: context.caller,
    trace: '',
    usage,
    ending: 'answered',
  }
}

let told: Usage | undefined
const context: Context = {
  ...contextWithin(1e9),
  used: (usage) => {
    told = usage
  },
}

/** µs of the processor a call, `atOnce` of them in a turn of the event loop. */
async function cost(atOnce: number, call: () => Promise<unknown>): Promise<number> {
  for (let turn = 0; turn < CALLS / 10; turn += atOnce) await many(atOnce, call)
  const begun = process.cpuUsage()
  for (let turn = 0; turn < CALLS; turn += atOnce) await many(atOnce, call)
  const { user, system } = process.cpuUsage(begun)
  return (user + system) / CALLS
}

async function many(count: number, call: () => Promise<unknown>): Promise<void> {
  await Promise.all(Array.from({ length: count }, call))
}

function told99(of: IntervalHistogram): string {
  const ms = (nanoseconds: number) => (nanoseconds / 1e6).toFixed(1)
  return `${ms(of.max)} ms at most, p99 ${ms(of.percentile(99))} ms`
}

const params = { query: 'words', limit: 8 }
const plain = () => served.call('memory/recall', params, context)
const measured = () => metered.call('memory/recall', params, context)
const kept = async () => {
  await measured()
  await spool.append(printEvent(eventOf(reportOf(told))))
}
const print = (line: string) => process.stdout.write(`${line}\n`)

for (const atOnce of [1, 10, 50]) {
  const [bare, measuring, keeping] = [
    await cost(atOnce, plain),
    await cost(atOnce, measured),
    await cost(atOnce, kept),
  ]
  print(
    `${atOnce} at once: measuring ${(measuring - bare).toFixed(2)} µs, with event and spool ${(keeping - bare).toFixed(2)} µs a call`,
  )
}

const accounting = new AccountingThread(
  {
    ledger: { kind: 'sqlite', path: join(folder, 'usage.db'), durability: 'normal' },
    sinks: [],
    keep: 1e12,
  },
  () => {},
)
const clearing = new Clearing({
  spool,
  accounting,
  everyMs: 1000,
  events: {
    cleared: (added) => print(`cleared ${added}`),
    removed: (bytes) => print(`removed ${bytes}`),
    failing: (reason) => print(`${reason}`),
  },
})
const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
await new Promise((resolve) => setTimeout(resolve, 3000))
print(`at rest the main thread is held up ${told99(delay)}`)
delay.reset()
const begun = performance.now()
await clearing.now()
const ms = performance.now() - begun
delay.disable()
print(
  `the ledger took all in ${ms.toFixed(0)} ms; meanwhile the main thread was held up ${told99(delay)}`,
)
await spool.end()
await clearing.end()
await accounting.close()
lane.close()
rmSync(folder, { recursive: true })
