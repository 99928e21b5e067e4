import { Counter, collectDefaultMetrics, Gauge, Histogram, type Registry } from 'prom-client'
import type { CallReport } from '../protocol/call-report.js'
import { CODES } from '../protocol/errors.js'
import type { Ask } from '../protocol/memory.js'
import type { Method } from '../protocol/methods.js'
import { createPartialMetrics } from './partial-metrics.js'
import type { Observer } from './report.js'

/** What may happen at an upstream and is counted for it. */
export type UpstreamEvent =
  | 'profile_mismatch'
  | 'foreign_record'
  | 'duplicate_record'
  | 'ascending_scores'
  | 'over_limit'
  | 'ignored_where'
  | 'duplicate_key'
  | 'untrue_capability'
  | 'bad_reply'
  | 'child_restart'
  | 'stdout_noise'

/** How one upstream stands at this moment; both are words that its wrappers use. */
export interface UpstreamStatus {
  readonly upstream: string
  readonly state: string
  readonly breaker: string
}

/** How much one recall had to merge. */
interface FusionSizes {
  readonly lists: number
  readonly candidates: number
}

/** Counts what happens. Callers and owners are in no label: a label set is never forgotten. */
export interface Metrics extends Observer {
  /** An ask that no call was made for; those of a call are in its report. */
  asked(ask: Ask): void
  fused(sizes: FusionSizes): void
  partial(method: Method): void
  happened(event: UpstreamEvent, upstream: string, times?: number): void
}

export interface MetricsOptions {
  readonly registry: Registry
  /** Read whenever the metrics are. */
  readonly upstreams: () => readonly UpstreamStatus[]
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** The catalogue of every metric: makes them in `registry`, the process's own included, under names that begin with `a2m_`. */
export function createMetrics({ registry, upstreams }: MetricsOptions): Metrics {
  collectDefaultMetrics({ register: registry, prefix: 'a2m_' })
  addStates(registry, upstreams)
  const asked = createAsked(registry)
  return {
    ...createObserver(registry, asked),
    asked,
    fused: createFused(registry),
    partial: createPartialMetrics(registry),
    happened: createHappened(
      registry,
      upstreams().map(({ upstream }) => upstream),
    ),
  }
}

function createObserver(registry: Registry, asked: (ask: Ask) => void): Observer {
  const registers = [registry]
  const requests = new Counter({
    name: 'a2m_requests_total',
    help: 'Messages answered, by method and by ok or the name of the error.',
    labelNames: ['method', 'outcome'],
    registers,
  })
  const duration = new Histogram({
    name: 'a2m_request_duration_seconds',
    help: 'Time from a whole message to its reply.',
    labelNames: ['method'],
    buckets: SECONDS,
    registers,
  })
  const hangups = new Counter({
    name: 'a2m_hangups_total',
    help: 'Calls whose caller left before the reply was there.',
    labelNames: ['method'],
    registers,
  })
  const refusals = new Counter({
    name: 'a2m_refusals_total',
    help: 'HTTP requests turned away before they became a message, by status.',
    labelNames: ['status'],
    registers,
  })
  const bytes = createBytes(registry)
  const inFlight = createInFlight(registry)
  return {
    started: () => inFlight(1),
    finished(report) {
      const method = report.method ?? 'none'
      inFlight(-1)
      requests.inc({ method, outcome: outcomeOf(report) })
      duration.observe({ method }, report.ms / 1000)
      if (report.ending === 'hung_up') hangups.inc({ method })
      bytes(report)
      for (const ask of report.asks) asked(ask)
    },
    refused: (status) => refusals.inc({ status }),
  }
}

const OUTCOMES: ReadonlyMap<number, string> = new Map(
  Object.entries(CODES).map(([name, code]) => [code, name]),
)

function outcomeOf({ error }: CallReport): string {
  return error === undefined ? 'ok' : (OUTCOMES.get(error.code) ?? 'OTHER')
}

function createInFlight(registry: Registry): (change: number) => void {
  let count = 0
  new Gauge({
    name: 'a2m_requests_in_flight',
    help: 'Messages being worked on.',
    registers: [registry],
    collect() {
      this.set(count)
    },
  })
  return (change) => {
    count += change
  }
}

function createBytes(registry: Registry): (report: CallReport) => void {
  const registers = [registry]
  const received = new Counter({
    name: 'a2m_received_bytes_total',
    help: 'Bytes of the messages that came in.',
    registers,
  })
  const sent = new Counter({
    name: 'a2m_sent_bytes_total',
    help: 'Bytes of the replies that went out.',
    registers,
  })
  return ({ bytesIn, bytesOut }) => {
    received.inc(bytesIn)
    sent.inc(bytesOut)
  }
}

function createAsked(registry: Registry): (ask: Ask) => void {
  const registers = [registry]
  const asks = new Counter({
    name: 'a2m_asks_total',
    help: 'Asks of upstreams, by how they ended.',
    labelNames: ['upstream', 'method', 'state'],
    registers,
  })
  const attempts = new Counter({
    name: 'a2m_attempts_total',
    help: 'Requests sent to upstreams, retries included.',
    labelNames: ['upstream'],
    registers,
  })
  const duration = new Histogram({
    name: 'a2m_ask_duration_seconds',
    help: 'Time from an ask of an upstream to its end, waiting and retries included.',
    labelNames: ['upstream'],
    buckets: SECONDS,
    registers,
  })
  return ({ upstream, method, state, attempts: sent, ms }) => {
    asks.inc({ upstream, method, state })
    if (sent > 0) attempts.inc({ upstream }, sent)
    if (state !== 'skipped') duration.observe({ upstream }, ms / 1000)
  }
}

function createFused(registry: Registry): (sizes: FusionSizes) => void {
  const registers = [registry]
  const lists = new Histogram({
    name: 'a2m_fusion_lists',
    help: 'Rankings merged in one recall.',
    buckets: [1, 2, 3, 4, 5, 7, 10, 15],
    registers,
  })
  const candidates = new Histogram({
    name: 'a2m_fusion_candidates',
    help: 'Different records among which one recall chose.',
    buckets: [0, 1, 5, 10, 20, 50, 100, 200, 500, 1000],
    registers,
  })
  return (sizes) => {
    lists.observe(sizes.lists)
    candidates.observe(sizes.candidates)
  }
}

/** Name of the metric and help of each event; the mapped type makes an event without one a compile error. */
const EVENTS: { readonly [E in UpstreamEvent]: readonly [name: string, help: string] } = {
  profile_mismatch: [
    'a2m_profile_mismatches_total',
    'Times that a well-known profile differed from what memory/describe said.',
  ],
  foreign_record: [
    'a2m_foreign_records_total',
    'Records dropped from an answer because they were not the caller’s.',
  ],
  duplicate_record: [
    'a2m_duplicate_records_total',
    'Records dropped because the same answer had them already.',
  ],
  ascending_scores: [
    'a2m_ascending_scores_total',
    'Answers whose records did not come by descending score and were put in order.',
  ],
  over_limit: ['a2m_over_limit_records_total', 'Records beyond the limit that was asked for.'],
  ignored_where: [
    'a2m_ignored_where_records_total',
    'Records dropped because they did not pass the filter that was asked for.',
  ],
  untrue_capability: [
    'a2m_untrue_capabilities_total',
    'Capabilities that an upstream declared and turned out not to keep.',
  ],
  duplicate_key: [
    'a2m_duplicate_keys_total',
    'Records found at a key of their owner that another upstream has another record at.',
  ],
  bad_reply: ['a2m_bad_replies_total', 'Replies that were not what the protocol says.'],
  child_restart: ['a2m_child_restarts_total', 'Times that a child process was started again.'],
  stdout_noise: [
    'a2m_stdout_noise_total',
    'Lines on a child’s stdout that were no JSON-RPC message.',
  ],
}

/** Each is told as 0 from the start, so that its first time is a rise like every other. */
function createHappened(registry: Registry, upstreams: readonly string[]): Metrics['happened'] {
  const counters: { readonly [E in UpstreamEvent]: Counter<'upstream'> } = {
    profile_mismatch: eventCounter(registry, 'profile_mismatch'),
    foreign_record: eventCounter(registry, 'foreign_record'),
    duplicate_record: eventCounter(registry, 'duplicate_record'),
    ascending_scores: eventCounter(registry, 'ascending_scores'),
    over_limit: eventCounter(registry, 'over_limit'),
    ignored_where: eventCounter(registry, 'ignored_where'),
    duplicate_key: eventCounter(registry, 'duplicate_key'),
    untrue_capability: eventCounter(registry, 'untrue_capability'),
    bad_reply: eventCounter(registry, 'bad_reply'),
    child_restart: eventCounter(registry, 'child_restart'),
    stdout_noise: eventCounter(registry, 'stdout_noise'),
  }
  for (const counter of Object.values(counters)) {
    for (const upstream of upstreams) counter.inc({ upstream }, 0)
  }
  return (event, upstream, times = 1) => counters[event].inc({ upstream }, times)
}

function eventCounter(registry: Registry, event: UpstreamEvent): Counter<'upstream'> {
  const [name, help] = EVENTS[event]
  return new Counter({ name, help, labelNames: ['upstream'], registers: [registry] })
}

function addStates(registry: Registry, upstreams: () => readonly UpstreamStatus[]): void {
  new Gauge({
    name: 'a2m_upstream_state',
    help: '1 for the state that an upstream is in.',
    labelNames: ['upstream', 'state'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { upstream, state } of upstreams()) this.set({ upstream, state }, 1)
    },
  })
  new Gauge({
    name: 'a2m_breaker_state',
    help: '1 for the state that the circuit breaker of an upstream is in.',
    labelNames: ['upstream', 'state'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { upstream, breaker } of upstreams()) this.set({ upstream, state: breaker }, 1)
    },
  })
}
