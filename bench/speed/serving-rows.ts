import { summary } from '../harness/statistics.js'
import { type Bench, LIMIT, startSide, startUpstreams, stopAll, verified } from './bench.js'
import { comparedLine, type FigureLine, type RateLine, rateLine } from './lines.js'
import { type Measured, measure, type Side } from './rounds.js'

const CONNECTIONS = 16
const PROXY = new URL('./proxy.ts', import.meta.url)
const FAN_OUT = new URL('./fan-out.ts', import.meta.url)

/** Rows a and d: one upstream, behind the gateway and behind a plain proxy. */
export async function oneUpstream(
  bench: Bench,
): Promise<{ rates: readonly RateLine[]; added: readonly FigureLine[] }> {
  const { processes } = bench.place
  const upstream = await startUpstreams(bench, { count: 1, texts: 'repeated' })
  const proxy = await processes.startSource(PROXY, upstream.urls)
  const one = { upstreams: upstream.urls, lexical: 1 }
  const direct: Side = { name: 'no gateway', server: upstream, limit: LIMIT }
  const proxied = await verified({ name: '@fastify/http-proxy', server: proxy, limit: LIMIT })
  const gateway = await startSide(bench, 'gateway, one upstream', one)
  const logging = await startSide(bench, 'gateway, a log line a call', { ...one, calls: true })
  const course = { ...bench.pace, load: bench.load, connections: CONNECTIONS }
  const [plain, ours, logged] = await three(measure(course, [proxied, gateway, logging]))
  const alone = { ...course, connections: 1, warm: 500, round: course.round / 2 }
  const latencies = await three(measure(alone, [direct, proxied, gateway]))
  await stopAll([upstream, proxy, gateway.server, logging.server])
  const rates = [
    rateLine('a', plain),
    comparedLine('a', { measured: ours, to: plain, least: 0.85 }),
    comparedLine('a', { measured: logged, to: plain }),
  ]
  return { rates, added: addedLatency(latencies) }
}

/** Row b: three upstreams, against the bare fan-out. */
export async function threeUpstreams(bench: Bench): Promise<readonly RateLine[]> {
  const { processes } = bench.place
  const upstreams = await startUpstreams(bench, { count: 3, texts: 'repeated' })
  const server = await processes.startSource(FAN_OUT, upstreams.urls)
  const bare = await verified({ name: 'bare fan-out', server, limit: LIMIT })
  const gateway = (name: string, lexical: number) =>
    startSide(bench, name, { upstreams: upstreams.urls, lexical })
  const off = await gateway('gateway, three upstreams', 0)
  const on = await gateway('gateway, voter on texts seen before', 1)
  const course = { ...bench.pace, load: bench.load, connections: CONNECTIONS }
  const [plain, ours, voted] = await three(measure(course, [bare, off, on]))
  await stopAll([upstreams, server, off.server, on.server])
  return [
    rateLine('b', plain),
    comparedLine('b', { measured: ours, to: plain, least: 0.75 }),
    comparedLine('b', { measured: voted, to: ours }),
  ]
}

/** Row c: what the voter costs on texts that were never there before. */
export async function freshTexts(bench: Bench): Promise<readonly RateLine[]> {
  const upstreams = await startUpstreams(bench, { count: 3, texts: 'fresh' })
  const gateway = (name: string, lexical: number) =>
    startSide(bench, name, { upstreams: upstreams.urls, lexical })
  const off = await gateway('gateway, new texts, no voter', 0)
  const on = await gateway('gateway, voter on new texts', 1)
  const course = { ...bench.pace, load: bench.load, connections: CONNECTIONS }
  const [plain, voted] = await measure(course, [off, on])
  await stopAll([upstreams, off.server, on.server])
  if (plain === undefined || voted === undefined) throw new Error('nothing was measured')
  return [rateLine('c', plain), comparedLine('c', { measured: voted, to: plain })]
}

/** Row h: what callers, roles, limits and metering cost together, against the same gateway without any of them. */
export async function guardedEdge(bench: Bench): Promise<readonly RateLine[]> {
  const nobodys = await startUpstreams(bench, {
    count: 1,
    texts: 'repeated',
    records: 'ownerless',
  })
  const theirs = await startUpstreams(bench, { count: 1, texts: 'repeated' })
  const open = await startSide(bench, 'gateway, open to all, nothing metered', {
    upstreams: nobodys.urls,
    lexical: 1,
    edge: 'open',
  })
  const guarded = await startSide(bench, 'gateway, keys, roles, limits, ledger', {
    upstreams: theirs.urls,
    lexical: 1,
    edge: 'guarded',
  })
  const course = { ...bench.pace, load: bench.load, connections: CONNECTIONS }
  const [plain, watched] = await measure(course, [open, guarded])
  await stopAll([nobodys, theirs, open.server, guarded.server])
  if (plain === undefined || watched === undefined) throw new Error('nothing was measured')
  return [rateLine('h', plain), comparedLine('h', { measured: watched, to: plain, least: 0.85 })]
}

async function three(measuring: Promise<Measured[]>): Promise<[Measured, Measured, Measured]> {
  const [first, second, third] = await measuring
  if (first === undefined || second === undefined || third === undefined) {
    throw new Error('nothing was measured')
  }
  return [first, second, third]
}

/** In ms, which a call of one connection takes more than another way. */
function addedLatency([direct, proxied, gateway]: readonly [
  Measured,
  Measured,
  Measured,
]): FigureLine[] {
  return [
    added('proxy: added latency', proxied, direct),
    { ...added('gateway: added latency', gateway, direct), target: below(gateway, direct) },
    added('gateway: added latency', gateway, proxied),
  ]
}

const MOST_ADDED = 0.3

function below(measured: Measured, to: Measured): FigureLine['target'] {
  const met = differences(measured, to).median < MOST_ADDED
  return { text: `< ${MOST_ADDED} ms`, met }
}

function differences(measured: Measured, to: Measured) {
  return summary(measured.latency.map((p50, round) => (p50 - (to.latency[round] ?? 0)) / 1000))
}

function added(what: string, measured: Measured, to: Measured): FigureLine {
  const { median, least, most } = differences(measured, to)
  const ratio = summary(measured.latency).median / summary(to.latency).median
  return {
    row: 'd',
    what,
    value: `${median.toFixed(3)} ms`,
    spread: `${least.toFixed(3)} - ${most.toFixed(3)}`,
    ratio: ratio.toFixed(2),
    to: `${to.name} (${(summary(to.latency).median / 1000).toFixed(3)} ms)`,
  }
}
