import type { ChildProcess } from 'node:child_process'
import { AUTH, KEY, type Place, startGateway } from '../harness/gateway.js'
import type { Running } from '../harness/processes.js'
import type { Course, Side } from './rounds.js'

/** What the rows of one run share. */
export interface Bench {
  readonly place: Place
  readonly load: ChildProcess
  readonly pace: Pick<Course, 'warm' | 'rounds' | 'round'>
}

/** How many records a call asks for, and a fan-out each of several upstreams. */
export const LIMIT = 8
const WINDOW = 20

const UPSTREAM = new URL('./upstream.ts', import.meta.url)

export interface UpstreamOptions {
  readonly count: number
  readonly texts: 'fresh' | 'repeated'
  /** Whether the records are those of the caller that has the key, which is so unless told, or nobody's. */
  readonly records?: 'owned' | 'ownerless'
}

/** Starts so many upstreams in one process, whose texts are dealt anew or repeat. */
export function startUpstreams(
  { place }: Bench,
  { count, texts, records = 'owned' }: UpstreamOptions,
): Promise<Running> {
  return place.processes.startSource(UPSTREAM, [String(count), texts, records], count)
}

export interface GatewayOptions {
  readonly upstreams: readonly string[]
  /** Weight of the lexical voter. */
  readonly lexical: number
  readonly window?: number
  /** Whether there is a log line for every call. */
  readonly calls?: boolean
  /** `open`: nobody is asked who they are. `keys`: a key is asked for. `guarded`: roles, limits and metering besides. */
  readonly edge?: 'open' | 'keys' | 'guarded'
}

/** Metrics are on, and what is used is not metered unless the edge is guarded; each upstream has one tier, and no answer is given up on a busy machine. */
export function configOf(options: GatewayOptions): object {
  const { upstreams, lexical, window = WINDOW, calls = false, edge = 'keys' } = options
  const named = upstreams.map((url, index) => [`store${index + 1}`, url] as const)
  return {
    ...EDGES[edge],
    log: { calls },
    upstreams: Object.fromEntries(named.map(([name, url]) => [name, { url, timeout: '20s' }])),
    tiers: Object.fromEntries(named.map(([name]) => [`tier-${name}`, { upstream: name }])),
    recall: { window, voters: { lexical } },
  }
}

/** As far above what a run can use as a limit may be. */
const PLENTY = 1e12

const EDGES: { readonly [E in NonNullable<GatewayOptions['edge']>]: object } = {
  open: { usage: 'off' },
  keys: { auth: AUTH, usage: 'off' },
  guarded: {
    auth: { keys: AUTH.keys.map((key) => ({ ...key, roles: ['agent'] })) },
    roles: {
      agent: { methods: ['memory/recall', 'memory/remember'], tiers: ['tier-store1'] },
      reader: { tiers: ['tier-store1'], access: 'read' },
    },
    quotas: {
      limits: {
        burst: { of: 'calls', per: 'caller', window: 'minute', limit: PLENTY },
        month: { of: 'calls', per: 'owner', window: 'month', limit: PLENTY, soft: 0.8 },
        texts: { of: 'characters', per: 'owner', window: 'day', limit: PLENTY },
      },
    },
  },
}

/** Starts a gateway and makes sure that it answers as it should before anything is measured. */
export async function startSide(
  bench: Bench,
  name: string,
  options: GatewayOptions,
): Promise<Side> {
  const server = await startGateway(bench.place, configOf(options))
  return verified({ name, server, limit: LIMIT })
}

/** Throws where a server does not answer a recall with the records that were asked for. */
export async function verified(side: Side): Promise<Side> {
  const params = { query: 'what is known of it?', limit: side.limit }
  const reply = await fetch(side.server.urls[0] ?? '', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'memory/recall', params }),
  })
  const text = await reply.text()
  const records: unknown = JSON.parse(text).result?.records
  if (!Array.isArray(records) || records.length !== side.limit) {
    throw new Error(`${side.name}: not ${side.limit} records but ${text.slice(0, 500)}`)
  }
  return side
}

/** Ends servers that no further row needs. */
export async function stopAll(servers: readonly Running[]): Promise<void> {
  await Promise.all(servers.map((server) => server.stop()))
}
