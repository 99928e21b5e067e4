/**
 * What it costs to recall by vector from several stores through the gateway, against one store that holds everything:
 *
 *     npx tsx bench/vectors.ts [--vectors N] [--width N] [--calls N] [--profiles DIR]
 *
 * Takes what `npm run build` made. 5,000 vectors of 768 numbers lie in one store behind HTTP, and once more in four stores of
 * 1,250: behind HTTP, in the gateway's own process, and behind HTTP as anybody's store that does not know our extension, so that
 * vectors have to come along. Each is asked for eight records, one call after the other, in five rounds of 60 calls in turns; all
 * are asked the same. Starts everything on free ports of this machine and ends it again.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { cpuMicros } from './harness/cpu.js'
import { CLI, type Place, Scratch, startGateway } from './harness/gateway.js'
import { Processes, type Running } from './harness/processes.js'
import { median, summary } from './harness/statistics.js'
import { layOut } from './harness/table.js'
import { Rpc } from './vectors/rpc.js'
import { createRandom, type Random, Zipf } from './zipf.js'

const { values } = parseArgs({
  options: {
    vectors: { type: 'string', default: '5000' },
    width: { type: 'string', default: '768' },
    calls: { type: 'string', default: '60' },
    profiles: { type: 'string' },
  },
})
const vectors = Number(values.vectors)
const width = Number(values.width)
const calls = Number(values.calls)
const ROUNDS = 5
const WARM_UP = 30
const BATCH = 100
/** The first recall of a store reads all its vectors. */
const PATIENCE = '20s'
const TOKEN = 'bench-token-0123456789abcdef'
const WORDS = 10
const TIERS = ['part1', 'part2', 'part3', 'part4'] as const

/** Something that is measured: where it is called, and the processes that do the work. */
interface Side {
  readonly name: string
  readonly rpc: Rpc
  readonly pids: readonly number[]
  /** It is held to the bound. */
  readonly held: boolean
}

interface Store {
  readonly path: string
  readonly tier: string
  /** Who calls it with the token is a gateway to it, and the two know the extension of each other. */
  readonly token?: string
}

function startStore({ processes }: Place, { path, tier, token }: Store): Promise<Running> {
  const trusted = token === undefined ? [] : ['--token-sha256', sha256(token)]
  const args = ['store', '--path', path, '--tiers', tier, '--http', '0', ...trusted]
  return processes.start({ args: [CLI, ...args] })
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

const url = ({ urls: [first = ''] }: Running): string => first

async function oneStore(place: Place): Promise<Side> {
  const path = join(place.scratch.folder(), 'all.db')
  const store = await startStore(place, { path, tier: 'all' })
  await fill(new Rpc(url(store)), { random: createRandom(1), vectors })
  return { name: 'one store', rpc: new Rpc(url(store)), pids: [store.pid], held: false }
}

/** Fills four files, which all federations then read. */
async function fillParts(place: Place): Promise<readonly Store[]> {
  const folder = place.scratch.folder()
  const parts = TIERS.map((tier) => ({ tier, path: join(folder, `${tier}.db`) }))
  for (const [index, part] of parts.entries()) {
    const store = await startStore(place, part)
    const share = { random: createRandom(10 + index), vectors: vectors / TIERS.length }
    await fill(new Rpc(url(store)), share)
    await store.stop()
  }
  return parts
}

/** With a token the stores know the extension; without, they are to the gateway as anybody's. */
async function overHttp(place: Place, parts: readonly Store[], token?: string): Promise<Side> {
  const secret = token === undefined ? {} : { token }
  const stores = await Promise.all(parts.map((part) => startStore(place, { ...part, ...secret })))
  const auth = token === undefined ? {} : { auth: { bearer: token } }
  const upstreams = stores.map((store, index) => [
    parts[index]?.tier,
    { url: url(store), timeout: PATIENCE, ...auth },
  ])
  const gateway = await startGateway(place, federation(Object.fromEntries(upstreams)))
  const pids = [gateway, ...stores].map(({ pid }) => pid)
  const kind = token === undefined ? 'four foreign stores over HTTP' : 'four stores over HTTP'
  return { name: kind, rpc: new Rpc(url(gateway)), pids, held: token !== undefined }
}

async function inProcess(place: Place, parts: readonly Store[]): Promise<Side> {
  const upstreams = parts.map(({ tier, path }) => [
    tier,
    { store: 'sqlite', path, timeout: PATIENCE },
  ])
  const gateway = await startGateway(place, federation(Object.fromEntries(upstreams)))
  return {
    name: 'four stores in its process',
    rpc: new Rpc(url(gateway)),
    pids: [gateway.pid],
    held: true,
  }
}

function federation(upstreams: object): object {
  const tiers = Object.fromEntries(TIERS.map((tier) => [tier, { upstream: tier }]))
  return { log: { calls: false }, upstreams, tiers }
}

interface Filling {
  readonly random: Random
  readonly vectors: number
}

async function fill(rpc: Rpc, { random, vectors }: Filling): Promise<void> {
  const zipf = new Zipf(10_000, random)
  for (let written = 0; written < vectors; written += BATCH) {
    const entry = () => ({ content: zipf.text(WORDS), embedding: vectorOf(random) })
    const records = Array.from({ length: Math.min(BATCH, vectors - written) }, entry)
    await rpc.call('memory/remember', { records })
  }
  rpc.close()
}

function vectorOf(random: Random): number[] {
  return Array.from({ length: width }, () => random() * 2 - 1)
}

/** Recalls by a vector alone, and by a vector and words, as texts that are ready to be sent. */
function questions(): Readonly<Record<string, readonly string[]>> {
  const random = createRandom(99)
  const zipf = new Zipf(10_000, random)
  const text = (params: object): string =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'memory/recall', params })
  const many = (make: () => object): string[] => Array.from({ length: calls }, () => text(make()))
  return {
    'by vector': many(() => ({ embedding: vectorOf(random) })),
    'by vector and words': many(() => ({ embedding: vectorOf(random), query: zipf.text(3) })),
  }
}

interface Round {
  /** Ms, the median call. */
  readonly p50: number
  /** Ms of processor a call, in all its processes. */
  readonly cpu: number
}

async function round({ rpc, pids }: Side, bodies: readonly string[]): Promise<Round> {
  const spent = (): number => pids.reduce((sum, pid) => sum + cpuMicros(pid), 0)
  const before = spent()
  const taken: number[] = []
  for (const body of bodies) {
    const start = performance.now()
    const reply = await rpc.post(body)
    taken.push(performance.now() - start)
    if (!reply.includes('"score"')) throw new Error(reply.slice(0, 300))
  }
  return { p50: median(taken), cpu: (spent() - before) / 1000 / bodies.length }
}

async function compare(sides: readonly Side[], bodies: readonly string[]): Promise<Round[][]> {
  for (const side of sides) await round(side, bodies.slice(0, WARM_UP))
  const rounds: Round[][] = sides.map(() => [])
  for (let turn = 0; turn < ROUNDS; turn++) {
    for (const [index, side] of sides.entries()) rounds[index]?.push(await round(side, bodies))
  }
  return rounds
}

function lines(what: string, sides: readonly Side[], rounds: readonly Round[][]): string[][] {
  const [one = []] = rounds
  return sides.map(({ name, held }, index) => {
    const mine = rounds[index] ?? []
    const ratio = summary(mine.map(({ p50 }, turn) => p50 / (one[turn]?.p50 ?? Number.NaN)))
    return [
      `${what}: ${name}`,
      median(mine.map(({ p50 }) => p50)).toFixed(2),
      median(mine.map(({ cpu }) => cpu)).toFixed(2),
      ratio.median.toFixed(2),
      `${ratio.least.toFixed(2)} - ${ratio.most.toFixed(2)}`,
      ...(held ? ['<= 2.50', ratio.median <= 2.5 ? 'met' : 'MISSED'] : ['', '']),
    ]
  })
}

async function main(): Promise<void> {
  const place = {
    processes: new Processes(),
    scratch: new Scratch(),
    profiles: values.profiles,
  }
  const parts = await fillParts(place)
  const sides = [
    await oneStore(place),
    await overHttp(place, parts, TOKEN),
    await inProcess(place, parts),
    await overHttp(place, parts),
  ]
  const rows: string[][] = []
  for (const [what, bodies] of Object.entries(questions())) {
    rows.push(...lines(what, sides, await compare(sides, bodies)))
  }
  const header = [
    `${vectors} vectors of ${width}`,
    'p50 ms',
    'CPU ms',
    'ratio',
    'rounds',
    'to reach',
  ]
  process.stdout.write(layOut([...header, ''], rows))
  for (const { rpc } of sides) rpc.close()
  await place.processes.stopAll()
}

await main()
