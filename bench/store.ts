/**
 * Figures of the built-in store: npx tsx bench/store.ts [--records N] [--vectors N] [--data DIR]
 *
 * Builds a file of N synthetic records (100,000 unless given) with a Zipf vocabulary, half a per cent of them a small
 * owner's, and prints what writes, opening and recalls take; then another of N records with vectors (5,000 unless given) of
 * 768 numbers, and what recalls by vector take. With --data DIR, a folder of docs.jsonl, queries.jsonl and
 * qrels.tsv, it also prints nDCG@10 of the whole index and of what a search reads of it.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Cancellation } from '../src/protocol/cancellation.js'
import { createIds } from '../src/protocol/ids.js'
import type { Context, Memory } from '../src/protocol/memory.js'
import type { ParamsOf } from '../src/protocol/methods.js'
import { systemClock } from '../src/protocol/time.js'
import type { StoreOptions } from '../src/stores/options.js'
import { openStore } from '../src/stores/store.js'
import { printQuality } from './store-quality.js'
import { type Ask, vectorRecalls, writeVectors } from './store-vectors.js'
import { createRandom, type Random, Zipf } from './zipf.js'

const BATCH = 1000
const WORDS = 60
const SMALL = 'small owner'
const BIG = 'big owner'

const CONTEXT: Context = {
  caller: { name: 'bench', roles: [], scope: { kind: 'all' } },
  cancellation: new Cancellation(),
  deadline: Number.POSITIVE_INFINITY,
  connection: { closed: new Cancellation() },
  trace: '0'.repeat(32),
  observe: () => {},
}

function open(options: StoreOptions, random: Random): Memory {
  const bytes = (size: number): Uint8Array =>
    Uint8Array.from({ length: size }, () => random() * 256)
  return openStore(options, { clock: systemClock, newId: createIds(systemClock.now, bytes) })
}

function say(what: string, figure: string): void {
  process.stdout.write(`${what.padEnd(58)} ${figure}\n`)
}

function spread({ taken, cpu }: Times): string {
  taken.sort((left, right) => left - right)
  const at = (part: number): string => (taken[Math.floor(taken.length * part)] ?? 0).toFixed(2)
  return `p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, worst ${at(0.9999)} ms, processor ${cpu.toFixed(2)} ms each`
}

interface Times {
  /** Ms by the clock of each turn. */
  readonly taken: number[]
  /** Ms of processor a turn, which neighbours on a busy machine change less. */
  readonly cpu: number
}

async function timed(times: number, work: () => Promise<unknown>): Promise<Times> {
  const taken: number[] = []
  const before = process.cpuUsage()
  for (let turn = 0; turn < times; turn++) {
    const start = performance.now()
    await work()
    taken.push(performance.now() - start)
  }
  const { user, system } = process.cpuUsage(before)
  return { taken, cpu: (user + system) / 1000 / times }
}

async function build(store: Memory, records: number, zipf: Zipf): Promise<void> {
  const start = performance.now()
  for (let written = 0; written < records; written += BATCH) {
    const entries = Array.from({ length: Math.min(BATCH, records - written) }, (_, index) => ({
      content: zipf.text(WORDS),
      owner: index % 200 === 0 ? SMALL : BIG,
    }))
    await store.call('memory/remember', { records: entries }, CONTEXT)
  }
  say(
    `build, ${BATCH} a batch`,
    `${(((performance.now() - start) * 1000) / records).toFixed(0)} µs a record`,
  )
}

async function measure(store: Memory, records: number, zipf: Zipf): Promise<void> {
  const ask = (owner: string | undefined, query: () => string) => async () =>
    store.call('memory/recall', { query: query(), owner }, CONTEXT)
  const few = zipf.rankOf(Math.max(2, 3000 / records))
  const rare = (): string =>
    Array.from({ length: 3 }, () => zipf.word(few + zipf.below(few))).join(' ')
  const question = (): string => `${zipf.word(0)} ${zipf.text(14)}`
  say('recall, 3 words in at most 10,000 records, first', spread(await timed(1, ask(BIG, rare))))
  say('recall, 3 words in at most 10,000 records', spread(await timed(200, ask(BIG, rare))))
  say('recall, questions of 15 words, first 20', spread(await timed(20, ask(BIG, question))))
  say('recall, questions of 15 words', spread(await timed(200, ask(BIG, question))))
  say(
    'recall, the commonest word alone',
    spread(
      await timed(
        20,
        ask(BIG, () => zipf.word(0)),
      ),
    ),
  )
  say('recall, small owner, 15 words', spread(await timed(100, ask(SMALL, question))))
  say("recall, anyone's, 15 words", spread(await timed(100, ask(undefined, question))))
  const write = async (): Promise<unknown> =>
    store.call('memory/remember', { records: [{ content: zipf.text(WORDS), owner: BIG }] }, CONTEXT)
  say('write of one record', spread(await timed(2000, write)))
  const newest = async (): Promise<unknown> => store.call('memory/timeline', { limit: 20 }, CONTEXT)
  say('timeline, newest 20 of all', spread(await timed(100, newest)))
}

async function measureVectors(path: string, vectors: number, zipf: Zipf): Promise<void> {
  const random = createRandom(2)
  const tools = { random, text: () => zipf.text(WORDS) }
  const writing = open({ path }, random)
  const start = performance.now()
  const askOf =
    (store: Memory): Ask =>
    (method, params) =>
      store.call(method, params as ParamsOf<typeof method>, CONTEXT)
  await writeVectors(askOf(writing), vectors, tools)
  const each = (performance.now() - start) / vectors
  say('write with a vector, 100 a batch', `${each.toFixed(2)} ms a record`)
  await writing.close()
  const store = open({ path }, random)
  const recalls = vectorRecalls(askOf(store), tools)
  for (const [what, work] of Object.entries(recalls)) {
    say(`recall ${what}, first`, spread(await timed(1, work)))
    say(`recall ${what}`, spread(await timed(100, work)))
  }
  await store.close()
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      records: { type: 'string', default: '100000' },
      vectors: { type: 'string', default: '5000' },
      data: { type: 'string' },
    },
  })
  const records = Number(values.records)
  const directory = mkdtempSync(join(tmpdir(), 'store-bench-'))
  const random = createRandom(1)
  try {
    const options: StoreOptions = { path: join(directory, 'bench.db') }
    const zipf = new Zipf(200_000, random)
    const first = open(options, random)
    await build(first, records, zipf)
    await first.close()
    say('file', `${(statSync(options.path).size / 1e6).toFixed(0)} MB`)
    const start = performance.now()
    const store = open(options, random)
    await store.call('memory/describe', {}, CONTEXT)
    say('open and describe', `${(performance.now() - start).toFixed(1)} ms`)
    await measure(store, records, zipf)
    await store.close()
    await measureVectors(join(directory, 'vectors.db'), Number(values.vectors), zipf)
    if (values.data !== undefined) printQuality(values.data, say)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

await main()
