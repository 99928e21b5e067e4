import type { Limits } from '../protocol/methods.js'
import type { Metric } from './metric.js'

/**
 * One tier of a store; `capacity` is records an owner (where `per_session`: of each session), 0 or absent unbounded, and is enforced
 * by consolidate where `spill_to` is set. `promote_after` is uses, `half_life` seconds: with it the lightest spill first.
 */
export interface TierOption {
  readonly name: string
  readonly kind?: string
  readonly capacity?: number
  readonly spill_to?: string
  readonly per_session?: boolean
  readonly promote_to?: string
  readonly promote_after?: number
  readonly half_life?: number
}

/** What a store is made from: plain JSON, so that it can be handed to a worker thread. */
export interface StoreOptions {
  /** The database file; its directory is made where it is missing. */
  readonly path: string
  /** What describe calls the store. */
  readonly name?: string
  /** In their order; the first takes records that name none. A bare name of one of the four kinds (§4.7) is of that kind. */
  readonly tiers?: readonly (string | TierOption)[]
  readonly access?: 'read-write' | 'read-only'
  /** What a committed write survives: `normal` the end of any process, `full` loss of power too. */
  readonly durability?: 'normal' | 'full'
  readonly limits?: Limits
  /** How many records recall gives where the caller names no limit. */
  readonly defaultLimit?: number
  /** How vectors are compared; the file keeps it, and `cosine` is what a file starts with. */
  readonly metric?: Metric
  /** How many events are kept to be read (§4.12); 0 or absent: events are not declared. */
  readonly events?: EventsOption
}

/** `keep` is how many. */
export interface EventsOption {
  readonly keep: number
}

/** Whether events are declared. */
export function keepsEvents(events: EventsOption | undefined): events is EventsOption {
  return events !== undefined && events.keep > 0
}
