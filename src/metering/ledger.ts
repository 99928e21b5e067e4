import type { UsageAnswer } from './answer.js'
import type { UsageEvent } from './event.js'
import type { UsageQuery } from './query.js'
import type { StockAnswer, StockCount } from './stock-sums.js'

/** How far the segments of a lane are in the ledger: all before `segment`, and of that the first `position` bytes. */
export interface Position {
  readonly segment: number
  readonly position: number
}

/** Events of one lane of a spool, and how far they go there. */
export interface Batch extends Position {
  readonly lane: string
  readonly events: readonly UsageEvent[]
}

/** An event as the ledger numbered it; numbers of one lane ascend in the order in which its events were added. */
export interface Numbered {
  readonly seq: number
  readonly event: UsageEvent
}

/**
 * Where usage is kept: every event for a while, its sums for ever. Rejects where it cannot be reached or written; whatever was asked is
 * then either done whole or not at all, and may be asked again.
 */
export interface Ledger {
  position(lane: string): Promise<Position | undefined>
  /** Adds those events that it has not had yet, their sums and the position, all or nothing. Returns how many were new. */
  add(batch: Batch): Promise<number>
  usage(query: UsageQuery): Promise<UsageAnswer>
  /** Events of one lane with numbers over `seq`, in their order. */
  after(lane: string, seq: number, limit: number): Promise<readonly Numbered[]>
  /** How far a sink has come in a lane; 0 at first. */
  cursor(lane: string, sink: string): Promise<number>
  moveCursor(lane: string, sink: string, seq: number): Promise<void>
  /** Notes what owners have in their tiers at an instant. */
  count(counts: readonly StockCount[]): Promise<void>
  stock(query: StockQuery): Promise<StockAnswer>
  /** The owners, as `ownerKey` has them, of whom a gateway has counted something or who were in calls since an hour. */
  owners(source: string, sinceHour: number): Promise<readonly string[]>
  /** Takes events away that are older than an instant, a portion at a time. Returns how many. */
  prune(before: number): Promise<number>
  close(): Promise<void>
}

/** A question about stock: of one owner or of all, with tier-hours between two instants. */
export interface StockQuery {
  readonly source: string | undefined
  /** As `ownerKey` has it. */
  readonly owner: string | undefined
  readonly from: number
  readonly to: number
  readonly now: number
  readonly limit: number
}
