import type { UsageAnswer } from './answer.js'
import { type CloudEventsOptions, createCloudEventsSink } from './cloud-events.js'
import { createJsonLinesSink, type JsonLinesOptions } from './json-lines.js'
import type { Segment } from './lane.js'
import type { Ledger, StockQuery } from './ledger.js'
import type { UsageQuery } from './query.js'
import { Delivery, type Sink, type SinkNews } from './sink.js'
import type { StockAnswer, StockCount } from './stock-sums.js'
import { type Taken, takeSegment } from './take.js'

export type LedgerOptions =
  | { readonly kind: 'sqlite'; readonly path: string; readonly durability: 'normal' | 'full' }
  | { readonly kind: 'postgres'; readonly url: string; readonly timeout: number }

export type SinkOptions =
  | ({ readonly kind: 'cloud-events' } & CloudEventsOptions)
  | ({ readonly kind: 'json-lines' } & JsonLinesOptions)

/** Plain values, so that they can be handed to a thread. */
export interface AccountingOptions {
  readonly ledger: LedgerOptions
  readonly sinks: readonly SinkOptions[]
  /** Ms that events are kept for; their sums stay. */
  readonly keep: number
}

/** All that is done with usage once it is in the spool. What cannot be done rejects with an Error that may be shown to operators. */
export interface Accounting {
  /** Brings a segment into the ledger. When it resolves, the segment may go. */
  take(lane: string, segment: Pick<Segment, 'number' | 'path'>): Promise<Taken>
  /** Sinks are to be given what the ledger has of a lane. */
  deliver(lane: string): Promise<void>
  usage(query: UsageQuery): Promise<UsageAnswer>
  count(counts: readonly StockCount[]): Promise<void>
  stock(query: StockQuery): Promise<StockAnswer>
  owners(source: string, sinceHour: number): Promise<readonly string[]>
  close(): Promise<void>
}

export interface AccountingServices {
  readonly now: () => number
  /** A number from 0 to 1. */
  readonly random: () => number
  readonly news: (news: SinkNews) => void
}

/** How often old events are looked for, in ms. */
const PRUNE_EVERY = 3_600_000

/** Opens the ledger at the first use, and again at the next where it could not be. */
export function createAccounting(options: AccountingOptions, services: AccountingServices) {
  return new LocalAccounting(options, services)
}

class LocalAccounting implements Accounting {
  readonly #options: AccountingOptions
  readonly #services: AccountingServices
  #opening: Promise<Opened> | undefined
  #pruned = Number.NEGATIVE_INFINITY

  constructor(options: AccountingOptions, services: AccountingServices) {
    this.#options = options
    this.#services = services
  }

  async take(lane: string, segment: Pick<Segment, 'number' | 'path'>): Promise<Taken> {
    const { ledger, deliveries } = await this.#open()
    const taken = await takeSegment(ledger, lane, segment)
    if (taken.added > 0) for (const delivery of deliveries) delivery.wake(lane)
    await this.#prune(ledger)
    return taken
  }

  async deliver(lane: string): Promise<void> {
    if (this.#options.sinks.length === 0) return
    const { deliveries } = await this.#open()
    for (const delivery of deliveries) delivery.wake(lane)
  }

  async usage(query: UsageQuery): Promise<UsageAnswer> {
    return (await this.#open()).ledger.usage(query)
  }

  async count(counts: readonly StockCount[]): Promise<void> {
    await (await this.#open()).ledger.count(counts)
  }

  async stock(query: StockQuery): Promise<StockAnswer> {
    return (await this.#open()).ledger.stock(query)
  }

  async owners(source: string, sinceHour: number): Promise<readonly string[]> {
    return (await this.#open()).ledger.owners(source, sinceHour)
  }

  async close(): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined)
    if (opened === undefined) return
    await Promise.all(opened.deliveries.map((delivery) => delivery.end()))
    await opened.ledger.close()
  }

  #open(): Promise<Opened> {
    this.#opening ??= openAll(this.#options, this.#services).catch((thrown: unknown) => {
      this.#opening = undefined
      throw thrown
    })
    return this.#opening
  }

  /** A portion at a time; when nothing is left to take away, not for an hour. Time that goes back only puts it off. */
  async #prune(ledger: Ledger): Promise<void> {
    const now = this.#services.now()
    if (now - this.#pruned < PRUNE_EVERY && now >= this.#pruned) return
    const gone = await ledger.prune(now - this.#options.keep)
    if (gone === 0) this.#pruned = now
  }
}

interface Opened {
  readonly ledger: Ledger
  readonly deliveries: readonly Delivery[]
}

async function openAll(
  { ledger: wanted, sinks }: AccountingOptions,
  services: AccountingServices,
): Promise<Opened> {
  const ledger = await openLedger(wanted)
  const deliveries = sinks.map(
    (sink) => new Delivery({ ledger, sink: createSink(sink), ...services }),
  )
  return { ledger, deliveries }
}

async function openLedger(options: LedgerOptions): Promise<Ledger> {
  if (options.kind === 'postgres') {
    const { openPostgresLedger } = await import('./postgres-ledger.js')
    return openPostgresLedger(options)
  }
  const { openSqliteLedger } = await import('./sqlite-ledger.js')
  return openSqliteLedger(options)
}

function createSink(options: SinkOptions): Sink {
  return options.kind === 'cloud-events'
    ? createCloudEventsSink(options)
    : createJsonLinesSink(options)
}
