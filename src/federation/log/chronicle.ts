import {
  type Change,
  NOTHING_REORGANISED,
  type OwnersShare,
  type Reorganised,
  type WrittenRecord,
} from '../../events/changes.js'
import type { Owner } from '../../protocol/scope.js'
import type { ChangeBook } from '../../state/book.js'
import { journalled } from '../writing/writing.js'

export type { Change, OwnersShare, Reorganised, WrittenRecord } from '../../events/changes.js'

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
  /** Names the intent on disk, for the moves that belong to it. */
  readonly id: string
  /**
   * Keeps, for recovery, what a part of a consolidate or a session/close did to one owner's records beyond its journalled moves. It
   * tells nothing by itself: `done` has the whole.
   */
  note(owner: string | null, part: Partial<Reorganised>): void
  /**
   * Tells what was done, and ends the intent with it in one step on disk. A change of nothing tells nothing; only a consolidate is
   * told even where it moved nothing, to the owner that it was for.
   */
  done(...changes: readonly Change[]): void
  /** It may have been done, and nobody can tell yet: the intent stays, and recovery tells what it finds. */
  unknown(): void
}

/** The pages of one federation; recovery leaves those alone that a call still has open. */
export interface Pages extends Chronicle {
  isOpen(id: string): boolean
  /** Whether one of these records is in the hands of a call. */
  touches(ids: ReadonlySet<string>): boolean
}

export interface PagesOptions {
  readonly book: ChangeBook
  /** Ids that ascend. */
  readonly newId: () => string
  /** Called after something was told. */
  readonly told: () => void
  /** See `Parts`. */
  readonly step: (name: string) => void
}

/** A chronicle on disk. */
export function createPages({ book, newId, told, step }: PagesOptions): Pages {
  const open = new Map<string, Intent>()
  return {
    begin(intent) {
      const id = newId()
      journalled('not_sent', () => book.begin(id, JSON.stringify(intent)))
      open.set(id, intent)
      step('intended')
      return {
        id,
        note: (owner, part) => {
          const whole = { ...NOTHING_REORGANISED, ...part }
          journalled('unknown', () => book.note(id, { owner, part: whole }))
        },
        done(...changes) {
          if (!open.delete(id)) return
          step('telling')
          journalled('unknown', () => book.end(id, addressed(intent, changes)))
          step('told')
          if (changes.length > 0) told()
        },
        unknown: () => void open.delete(id),
      }
    },
    isOpen: (id) => open.has(id),
    touches: (ids) => [...open.values()].some((intent) => idsOf(intent).some((id) => ids.has(id))),
  }
}

function idsOf(intent: Intent): readonly string[] {
  if (intent.kind === 'written') return intent.records.map(({ id }) => id)
  return 'ids' in intent ? intent.ids.flatMap(({ part }) => part) : []
}

/** A consolidate that moved nothing is nobody's in its shares, so that it is told to whom it was for. */
function addressed(intent: Intent, changes: readonly Change[]): Change[] {
  return changes.map((change) => {
    if (change.kind !== 'consolidated' || change.shares.length > 0) return change
    const owner = 'owner' in intent ? intent.owner : undefined
    return { ...change, shares: [{ owner, part: NOTHING_REORGANISED, places: [] }] }
  })
}
