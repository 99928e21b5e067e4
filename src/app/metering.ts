import { join } from 'node:path'
import type { Registry } from 'prom-client'
import { type Config, USAGE_FILE, USAGE_SPOOL } from '../config/config.js'
import type { UsageConfig, UsageSinkConfig } from '../config/usage.js'
import type { UsageSource } from '../edge/usage.js'
import type { AccountingOptions, LedgerOptions, SinkOptions } from '../metering/accounting.js'
import { AccountingThread } from '../metering/accounting-thread.js'
import { Clearing } from '../metering/clearing.js'
import { createEvents, printEvent } from '../metering/event.js'
import { createEventIds } from '../metering/event-ids.js'
import { OwnLane } from '../metering/lane.js'
import type { SinkNews } from '../metering/sink.js'
import { Spool } from '../metering/spool.js'
import { systemFiles } from '../metering/spool-files.js'
import type { StockCount } from '../metering/stock-sums.js'
import type { CallReport } from '../protocol/call-report.js'
import { A2mError } from '../protocol/errors.js'
import { createUsageMetrics, type UsageMetrics } from '../telemetry/usage-metrics.js'
import type { Closers } from './closers.js'
import type { AppDeps } from './deps.js'
import { makeFolder } from './folder.js'

/** What is done with the usage of calls, for all federations of a gateway together. */
export interface Metering extends UsageSource {
  /** Takes up the spool and what an earlier run has left in it: once the state in `data_dir` is held by this gateway, and before any call. */
  begin(): void
  /** Has the usage of a call on disk when it resolves, if the disk takes it. Never rejects. */
  keep(report: CallReport): Promise<void> | undefined
  /** Why calls are refused at the moment, where the configuration says so. */
  refusal(): A2mError | undefined
  /** Notes what owners have. */
  note(counts: readonly StockCount[]): Promise<void>
  /** The owners that a federation's records are counted of, by the name of its gateway and itself. */
  owners(source: string): Promise<readonly string[]>
  /** Something of the stock could not be counted. */
  uncounted(source: string, reason: string): void
}

export interface MeteringParts {
  readonly config: Config
  readonly deps: AppDeps
  readonly metricRegistry: Registry
  readonly closers: Closers
}

const SEGMENT_BYTES = 8 * 1024 * 1024
const RETRY_MS = 1000
const SAY_EVERY_MS = 10_000
/** Hours in which somebody must have called so that what is theirs is counted at night. */
const OWNER_HOURS = 31 * 24

/** Makes spool, ledger and sinks ready to begin; undefined where usage is not metered. */
export async function openMetering(parts: MeteringParts): Promise<Metering | undefined> {
  const { usage, dataDir } = parts.config
  if (usage === undefined || parts.deps.purpose === 'look') return undefined
  await makeFolder(dataDir)
  return new Meter(parts, usage).open()
}

class Meter {
  readonly #parts: MeteringParts
  readonly #usage: UsageConfig
  readonly #metrics: UsageMetrics
  readonly #accounting: AccountingThread
  readonly #spool: Spool
  readonly #clearing: Clearing
  readonly #newId: () => string
  readonly #lane: OwnLane
  #unsaid = 0
  #sayAgain = Number.NEGATIVE_INFINITY

  constructor(parts: MeteringParts, usage: UsageConfig) {
    const { config, deps, metricRegistry } = parts
    this.#parts = parts
    this.#usage = usage
    this.#newId = createEventIds(deps.clock, deps.randomBytes)
    this.#lane = new OwnLane(join(config.dataDir, USAGE_SPOOL), this.#newId)
    this.#metrics = createUsageMetrics(metricRegistry, () => this.#spool.state)
    this.#accounting = new AccountingThread(accountingOptions(config, usage), (news) =>
      this.#heard(news),
    )
    this.#spool = new Spool({
      lane: () => this.#lane.take(),
      files: systemFiles(),
      durability: config.durability,
      segmentBytes: SEGMENT_BYTES,
      maxBytes: usage.spool.maxBytes,
      maxHeld: usage.heldEvents,
      retryMs: RETRY_MS,
      monotonic: deps.clock.monotonic,
      events: {
        written: this.#metrics.written,
        lost: (events) => this.#lost(events),
        failing: (reason) => this.#failing('spool', reason),
      },
    })
    this.#clearing = new Clearing({
      spool: this.#spool,
      accounting: this.#accounting,
      everyMs: usage.spool.interval,
      events: {
        cleared: this.#metrics.cleared,
        removed: (bytes) => this.#removed(bytes),
        failing: (reason) => this.#failing('ledger', reason),
      },
    })
  }

  open(): Metering {
    const { closers, deps } = this.#parts
    closers.add(() => this.#close())
    const accounting = this.#accounting
    return {
      begin: () => this.#begin(),
      keep: this.#keeping(),
      refusal: this.#usage.onFailure === 'stop' ? () => this.#refusal() : () => undefined,
      now: deps.clock.now,
      // With all that calls have used until now.
      usage: async (query) => {
        await this.#clearing.now()
        return accounting.usage(query)
      },
      stock: (query) => accounting.stock(query),
      note: (counts) => accounting.count(counts),
      owners: (source) =>
        accounting.owners(source, Math.floor(deps.clock.now() / 3_600_000) - OWNER_HOURS),
      uncounted: (source, reason) => {
        this.#metrics.failed('stock')
        deps.log.warn({ source, reason }, 'the stock of an owner was not counted')
      },
    }
  }

  #begin(): void {
    this.#spool.start()
    this.#clearing.start()
    if (this.#usage.sinks.length > 0) void this.#deliver()
  }

  #keeping(): Metering['keep'] {
    const eventOf = createEvents({ newId: this.#newId, ...this.#usage })
    return (report) => {
      if (report.error === UNCOUNTED) return undefined
      const event = eventOf(report)
      this.#metrics.used(report, event.tokens)
      return this.#spool.append(printEvent(event))
    }
  }

  #refusal(): A2mError | undefined {
    return this.#spool.state.failure === undefined ? undefined : UNCOUNTED
  }

  /** Sinks go on where they were, though nobody calls. */
  async #deliver(): Promise<void> {
    try {
      await this.#accounting.deliver(this.#lane.take().id)
    } catch {
      // What keeps it from that is told of by the spool or by clearing.
    }
  }

  #removed(bytes: number): void {
    this.#metrics.failed('spool')
    this.#parts.deps.log.error({ bytes }, 'usage is lost: its file in the spool was removed')
  }

  /** Said now and then, since every call may be one. */
  #lost(events: number): void {
    const { clock, log } = this.#parts.deps
    this.#metrics.lost(events)
    this.#unsaid += events
    if (clock.monotonic() < this.#sayAgain) return
    log.error({ events: this.#unsaid }, 'usage is lost: it can be kept nowhere')
    this.#unsaid = 0
    this.#sayAgain = clock.monotonic() + SAY_EVERY_MS
  }

  #failing(part: 'spool' | 'ledger', reason: string | undefined): void {
    const { log } = this.#parts.deps
    if (reason === undefined) {
      log.info({ part }, 'usage is kept again')
      return
    }
    this.#metrics.failed(part)
    log.error({ part, reason, on_failure: this.#usage.onFailure }, FAILING[part])
  }

  #heard(news: SinkNews): void {
    this.#metrics.sink(news)
    const { sink, failure, refused } = news
    const { log } = this.#parts.deps
    if (failure !== undefined) log.warn({ sink, reason: failure }, 'a sink takes no usage for now')
    if (refused > 0) log.error({ sink, events: refused }, 'a sink refused usage for good')
  }

  async #close(): Promise<void> {
    await this.#spool.end()
    await this.#clearing.end()
    await this.#accounting.close()
    this.#lane.close()
  }
}

const FAILING = {
  spool: 'usage cannot be written to disk and waits in memory',
  ledger: 'usage cannot be brought into the ledger and waits on disk',
} as const

/** What callers are told where the configuration serves nobody whom it cannot count. One value, so that it is known again. */
const UNCOUNTED = new A2mError(
  'INTERNAL_ERROR',
  'usage cannot be recorded at the moment, and this gateway answers only what it can record; try again later',
)

function accountingOptions(
  config: Config,
  { keep, ledger, sinks }: UsageConfig,
): AccountingOptions {
  const { dataDir, durability, name } = config
  const where: LedgerOptions =
    ledger.kind === 'postgres'
      ? ledger
      : { kind: 'sqlite', path: join(dataDir, USAGE_FILE), durability }
  return { ledger: where, keep, sinks: sinks.map((sink) => sinkOptions(sink, name)) }
}

function sinkOptions(sink: UsageSinkConfig, source: string): SinkOptions {
  return sink.kind === 'cloud-events' ? { ...sink, source } : sink
}
