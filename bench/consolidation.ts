/**
 * What a consolidation of many records costs, and what it costs those who recall meanwhile:
 *
 *     npx tsx bench/consolidation.ts [--records N] [--texts N] [--groups]
 *
 * Starts the built gateway over two built-in stores, writes N records (10,000 unless given) of about so many characters (300) into
 * the working tier, in groups of three where told to, and consolidates them into the other store. One connection recalls all the
 * while, as fast as it is answered.
 */
import { parseArgs } from 'node:util'
import { cpuMicros } from './harness/cpu.js'
import { AUTH, KEY, Scratch, startGateway } from './harness/gateway.js'
import { Processes } from './harness/processes.js'
import { createRandom, Zipf } from './zipf.js'

const { values } = parseArgs({
  options: {
    records: { type: 'string', default: '10000' },
    texts: { type: 'string', default: '300' },
    groups: { type: 'boolean', default: false },
  },
})
const RECORDS = Number(values.records)
const WORDS = Math.ceil(Number(values.texts) / 6)
const BATCH = 500

const CONFIG = {
  auth: AUTH,
  log: { level: 'silent' },
  limits: { request_timeout: '5m' },
  upstreams: {
    hot: { store: 'sqlite', path: 'hot.db', timeout: '30s' },
    cold: { store: 'sqlite', path: 'cold.db', timeout: '30s' },
  },
  tiers: {
    working: { kind: 'working', upstream: 'hot', capacity: 1, spill_to: 'episodic' },
    episodic: { kind: 'episodic', upstream: 'cold' },
  },
}

interface Reply {
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: unknown
}

function caller(url: string) {
  return async (
    method: string,
    params: object = {},
  ): Promise<Readonly<Record<string, unknown>>> => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    const { result, error } = (await response.json()) as Reply
    if (result === undefined) throw new Error(JSON.stringify(error))
    return result
  }
}
type Call = ReturnType<typeof caller>

async function write(call: Call): Promise<void> {
  const random = createRandom(7)
  const words = new Zipf(20_000, random)
  for (let start = 0; start < RECORDS; start += BATCH) {
    const records = Array.from({ length: Math.min(BATCH, RECORDS - start) }, (_, index) => ({
      content: words.text(WORDS),
      session: `session-${index % 7}`,
      ...(values.groups ? { group: `group-${Math.floor((start + index) / 3)}` } : {}),
    }))
    await call('memory/remember', { records })
  }
}

/** Recalls until told to stop; returns how long each took, in ms. */
async function recallUntil(call: Call, stopped: () => boolean): Promise<number[]> {
  const random = createRandom(11)
  const words = new Zipf(20_000, random)
  const taken: number[] = []
  while (!stopped()) {
    const query = words.text(4)
    const begun = performance.now()
    await call('memory/recall', { query })
    taken.push(performance.now() - begun)
  }
  return taken
}

function percentile(sorted: readonly number[], share: number): string {
  return (sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN).toFixed(1)
}

function say(what: string, taken: readonly number[]): void {
  const sorted = taken.toSorted((a, b) => a - b)
  const [p50, p99, most] = [0.5, 0.99, 1].map((share) => percentile(sorted, share))
  process.stdout.write(`${what}: p50 ${p50} ms, p99 ${p99} ms, most ${most} ms (${taken.length})\n`)
}

async function run(processes: Processes): Promise<void> {
  const { urls, pid } = await startGateway({ processes, scratch: new Scratch() }, CONFIG)
  const call = caller(urls[0] ?? '')
  await write(call)
  const calmEnds = performance.now() + 3000
  say('recall before', await recallUntil(call, () => performance.now() > calmEnds))
  const { cursor } = await call('memory/events')
  const begun = performance.now()
  const before = cpuMicros(pid)
  let over = false
  const moving = call('memory/consolidate').finally(() => {
    over = true
  })
  const during = await recallUntil(call, () => over)
  const { moved, counts } = await moving
  const seconds = ((performance.now() - begun) / 1000).toFixed(1)
  const cpu = ((cpuMicros(pid) - before) / 1e6).toFixed(1)
  process.stdout.write(
    `consolidate: ${seconds} s (${cpu} s of processor time, recalls included), moved ${moved}, ${JSON.stringify(counts)}\n`,
  )
  say('recall meanwhile', during)
  const { events } = await call('memory/events', { cursor })
  process.stdout.write(`events: ${JSON.stringify(events)}\n`)
}

const processes = new Processes()
try {
  await run(processes)
} finally {
  await processes.stopAll()
}
