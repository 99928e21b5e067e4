import type { Change, OwnersShare, WrittenRecord } from '../events/changes.js'
import type { Owner } from '../protocol/scope.js'

export type { Change, OwnersShare, Reorganised, WrittenRecord } from '../events/changes.js'

/**
 * What a call is about to do, kept on disk until it has been told how it ended, so that a crash in between loses no event: what is
 * found to have happened is told then. For `written`, records as they will be (`revision` undefined where it is not known yet).
 */
export type Intent =
  | { readonly kind: 'written'; readonly records: readonly WrittenRecord[] }
  | {
      readonly kind: 'forgotten' | 'promoted'
      readonly ids: readonly OwnersShare<readonly string[]>[]
      readonly tier?: string
    }
  | { readonly kind: 'consolidated'; readonly owner: Owner }
  | { readonly kind: 'session_closed'; readonly owner: Owner; readonly session: string }

/** The book of what went through the gateway. A handler opens a page before its first effect and closes it after its last. */
export interface Chronicle {
  /** Throws where the intent cannot be written down; then nothing may be done. */
  begin(intent: Intent): Page
}

export interface Page {
  /** Tells what was done, and ends the intent with it in one step on disk. A change of nothing tells nothing. */
  done(...changes: readonly Change[]): void
  /** It may have been done, and nobody can tell yet: the intent stays, and recovery tells what it finds. */
  unknown(): void
}
