import type { Owner } from '../protocol/scope.js'

/** One record as `written` tells of it. */
export interface WrittenRecord {
  readonly id: string
  readonly owner: string | null
  readonly tier: string | undefined
  readonly session: string | undefined
  readonly key: string | undefined
  readonly revision: number | undefined
  /** Where it is, by the gateway's name; a store alone has none. */
  readonly upstream?: string | undefined
}

/** Where a record is, or was before it was deleted. */
export interface RecordPlace {
  readonly tier: string
  readonly upstream: string
  readonly key?: string | undefined
}

/**
 * What one owner's records saw of a change; null is records without an owner. Undefined is for a change that touched no record of
 * anybody: only callers whose scope is all are told of it.
 */
export interface OwnersShare<T> {
  readonly owner: Owner
  readonly part: T
  /** Where the records of it are: of ids, one for each in their order, otherwise each place once. Absent where nobody can tell. */
  readonly places?: readonly RecordPlace[] | undefined
}

/** What consolidate and session/close did to one owner's records. */
export interface Reorganised {
  readonly moved: number
  readonly promoted: number
  readonly dropped: number
  readonly summarized: number
}

/**
 * A change as it ended, for the event log: one call makes one (§4.12), except `written`, which is one a record. A
 * `session_closed` is told as one `consolidated` with its counts and one `session_closed`: it needs no `consolidated` beside it.
 */
export type Change =
  | { readonly kind: 'written'; readonly records: readonly WrittenRecord[] }
  | { readonly kind: 'forgotten'; readonly shares: readonly OwnersShare<readonly string[]>[] }
  | {
      readonly kind: 'promoted'
      readonly tier: string
      readonly shares: readonly OwnersShare<readonly string[]>[]
    }
  | { readonly kind: 'consolidated'; readonly shares: readonly OwnersShare<Reorganised>[] }
  | {
      readonly kind: 'session_closed'
      readonly session: string
      readonly shares: readonly OwnersShare<Reorganised>[]
    }

/** What consolidate and session/close did where they found nothing to do. */
export const NOTHING_REORGANISED: Reorganised = {
  moved: 0,
  promoted: 0,
  dropped: 0,
  summarized: 0,
}
