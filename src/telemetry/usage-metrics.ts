import { Counter, Gauge, type Registry } from 'prom-client'
import type { CallReport } from '../protocol/call-report.js'

/** The parts of metering that may fail each by itself. */
export type UsagePart = 'spool' | 'ledger' | 'stock'

/** How the spool stands whenever the metrics are read. */
interface SpoolGauges {
  readonly bytes: number
  readonly held: number
  /** Of the oldest event that is in no ledger, in ms. */
  readonly age: number
}

/** How one sink is doing. */
interface SinkReport {
  readonly sink: string
  readonly delivered: number
  readonly refused: number
  readonly lagMs: number
  readonly failure: string | undefined
}

/** Counts what metering does, and what is used by method. Callers and owners are in no label. */
export interface UsageMetrics {
  /** A call whose usage is known; `tokens` as estimated. */
  used(report: CallReport, tokens: number): void
  written(events: number): void
  lost(events: number): void
  cleared(added: number, torn: number): void
  failed(part: UsagePart): void
  sink(report: SinkReport): void
}

/** Made only where usage is metered. `spool` is read whenever the metrics are. */
export function createUsageMetrics(registry: Registry, spool: () => SpoolGauges): UsageMetrics {
  addGauges(registry, spool)
  const failures = counter(
    registry,
    'a2m_usage_failures_total',
    'Times that a part of metering could not do its work.',
    ['part'],
  )
  const torn = counter(
    registry,
    'a2m_usage_torn_lines_total',
    'Lines of the spool that a crash had torn and that were left out.',
  )
  const added = counter(
    registry,
    'a2m_usage_ledger_events_total',
    'Usage events that were new to the ledger.',
  )
  const written = counter(
    registry,
    'a2m_usage_events_total',
    'Usage events written to the spool, one a call.',
  )
  const lost = counter(
    registry,
    'a2m_usage_lost_events_total',
    'Usage events that could be kept nowhere.',
  )
  return {
    used: createUsed(registry),
    written: (events) => written.inc(events),
    lost: (events) => lost.inc(events),
    cleared(events, lines) {
      added.inc(events)
      torn.inc(lines)
    },
    failed: (part) => failures.inc({ part }),
    sink: createSinks(registry, failures),
  }
}

function counter<L extends string = never>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly L[] = [],
): Counter<L> {
  return new Counter({ name, help, labelNames: [...labelNames], registers: [registry] })
}

function addGauges(registry: Registry, spool: () => SpoolGauges): void {
  const gauge = (name: string, help: string, read: (spool: SpoolGauges) => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read(spool()))
      },
    })
  gauge(
    'a2m_usage_spool_bytes',
    'Bytes of usage events on disk that are in no ledger yet.',
    ({ bytes }) => bytes,
  )
  gauge(
    'a2m_usage_held_events',
    'Usage events that wait in memory because the spool cannot be written.',
    ({ held }) => held,
  )
  gauge(
    'a2m_usage_ledger_lag_seconds',
    'Time since the oldest usage event came that is in no ledger yet.',
    ({ age }) => age / 1000,
  )
}

function createUsed(registry: Registry): UsageMetrics['used'] {
  const records = counter(
    registry,
    'a2m_usage_records_total',
    'Records that calls wrote (in) and were given (out).',
    ['method', 'direction'],
  )
  const characters = counter(
    registry,
    'a2m_usage_characters_total',
    'Characters of the contents of those records.',
    ['method', 'direction'],
  )
  const estimated = counter(
    registry,
    'a2m_usage_tokens_total',
    'Tokens of those characters, estimated.',
    ['method'],
  )
  return ({ method = 'none', usage }, tokens) => {
    if (usage === undefined) return
    const { recordsIn, recordsOut, charactersIn, charactersOut } = usage
    if (recordsIn > 0) records.inc({ method, direction: 'in' }, recordsIn)
    if (recordsOut > 0) records.inc({ method, direction: 'out' }, recordsOut)
    if (charactersIn > 0) characters.inc({ method, direction: 'in' }, charactersIn)
    if (charactersOut > 0) characters.inc({ method, direction: 'out' }, charactersOut)
    if (tokens > 0) estimated.inc({ method }, tokens)
  }
}

function createSinks(registry: Registry, failures: Counter<'part'>): UsageMetrics['sink'] {
  const events = counter(
    registry,
    'a2m_usage_sink_events_total',
    'Usage events that a sink has taken, and those that it refused for good.',
    ['sink', 'outcome'],
  )
  const lag = new Gauge({
    name: 'a2m_usage_sink_lag_seconds',
    help: 'Age of the oldest usage event that a sink has not got.',
    labelNames: ['sink'],
    registers: [registry],
  })
  return ({ sink, delivered, refused, lagMs, failure }) => {
    if (delivered > 0) events.inc({ sink, outcome: 'delivered' }, delivered)
    if (refused > 0) events.inc({ sink, outcome: 'refused' }, refused)
    lag.set({ sink }, lagMs / 1000)
    if (failure !== undefined) failures.inc({ part: 'sink' })
  }
}
