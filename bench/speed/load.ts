/**
 * Calls a server over raw sockets, since a client of comfort would take the processor from what is measured. Told by
 * message what to do, answers with what came of it.
 */
import { Connection } from './load-connection.js'
import { Prose } from './prose.js'

/** What to call, and for how long or how often. */
export interface LoadOrder {
  readonly url: string
  readonly key: string
  /** Each sends its next request when the answer to the last one is there. */
  readonly connections: number
  /** How many records each request asks for. */
  readonly limit: number
  readonly until: { readonly ms: number } | { readonly requests: number }
}

/** Times in µs, from the first byte out to the last byte in. */
export interface LoadResult {
  readonly requests: number
  readonly ms: number
  readonly latencies: { readonly p50: number; readonly p99: number }
  /** Of the bodies, on average. */
  readonly bytes: number
  /** What was answered with anything but a result. */
  readonly failures: number
  /** What one of them looked like. */
  readonly failure: string
}

const QUESTIONS = 64

function requestsFor({ url, key, limit }: LoadOrder, prose: Prose): readonly Buffer[] {
  const { host, pathname } = new URL(url)
  return Array.from({ length: QUESTIONS }, () => {
    const params = { query: prose.question(), limit }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'memory/recall', params })
    const head = [
      `POST ${pathname} HTTP/1.1`,
      `host: ${host}`,
      `authorization: Bearer ${key}`,
      'content-type: application/json',
      `content-length: ${Buffer.byteLength(body)}`,
    ]
    return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)
  })
}

async function carryOut(order: LoadOrder, prose: Prose): Promise<LoadResult> {
  const requests = requestsFor(order, prose)
  const { hostname, port } = new URL(order.url)
  const open = () => Connection.open(hostname, Number(port))
  const connections = await Promise.all(Array.from({ length: order.connections }, open))
  const start = performance.now()
  const mayGoOn = limitOf(order.until, start)
  const latencies: number[] = []
  await Promise.all(
    connections.map((connection) => drive(connection, requests, { latencies, mayGoOn })),
  )
  const ms = performance.now() - start
  for (const connection of connections) connection.close()
  return resultOf(connections, latencies, ms)
}

function limitOf(until: LoadOrder['until'], start: number): () => boolean {
  if ('ms' in until) return () => performance.now() - start < until.ms
  let begun = 0
  return () => begun++ < until.requests
}

interface Driving {
  readonly latencies: number[]
  readonly mayGoOn: () => boolean
}

async function drive(
  connection: Connection,
  requests: readonly Buffer[],
  { latencies, mayGoOn }: Driving,
): Promise<void> {
  while (mayGoOn()) {
    const sent = performance.now()
    await connection.exchange(requests[latencies.length % QUESTIONS] ?? Buffer.alloc(0))
    latencies.push((performance.now() - sent) * 1000)
  }
}

function resultOf(connections: readonly Connection[], latencies: number[], ms: number): LoadResult {
  const ordered = Float64Array.from(latencies).sort()
  const at = (part: number): number => ordered[Math.floor((ordered.length - 1) * part)] ?? 0
  const total = (of: 'bytes' | 'failures'): number =>
    connections.reduce((sum, connection) => sum + connection[of], 0)
  return {
    requests: latencies.length,
    ms,
    latencies: { p50: at(0.5), p99: at(0.99) },
    bytes: total('bytes') / Math.max(1, latencies.length),
    failures: total('failures'),
    failure: connections.map(({ failure }) => failure).join(''),
  }
}

const prose = new Prose(4711)
process.on('message', (order: LoadOrder) => {
  void carryOut(order, prose).then((result) => process.send?.(result))
})
