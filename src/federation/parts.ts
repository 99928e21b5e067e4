import type { RecallConfig } from '../config/config.js'
import type { Reach } from '../protocol/access-reach.js'
import type { Context } from '../protocol/memory.js'
import type { Method } from '../protocol/methods.js'
import type { Clock } from '../protocol/time.js'
import type { ChangeBook } from '../state/book.js'
import type { CarriedRecords } from '../state/carried.js'
import type { Journal } from '../state/journal.js'
import type { Upstream } from '../upstreams/upstream.js'
import type { Layout } from './layout.js'
import type { KeyedLock } from './locks.js'
import type { Pages } from './log/chronicle.js'
import type { Echoes } from './log/echoes.js'
import type { Promised } from './promise.js'
import type { Lexical } from './ranking/lexical.js'
import type { Blame } from './reading/arrivals.js'
import type { KnownCounts } from './reading/counts.js'
import type { Trust } from './trust.js'
import type { Width } from './width.js'
import type { Uses } from './writing/use.js'

/**
 * What the methods of a federation share. Layout and promise are those of the moment. A caller whose roles bound what it may touch
 * is served with parts of which only that is there: what reads, counts and finds by them cannot come upon anything else.
 */
export interface Parts {
  /** The gateway's own name, as describe tells it. */
  readonly name: string
  readonly recall: RecallConfig
  readonly layout: () => Layout
  readonly promise: () => Promised
  readonly upstreams: () => readonly Upstream[]
  readonly clock: Clock
  /** Makes ids for records (UUIDv7). */
  readonly newId: () => string
  readonly journal: Journal
  readonly carried: CarriedRecords
  readonly chronicle: Pages
  /** Where the chronicle and the event log are kept. */
  readonly book: ChangeBook
  /** Kept where events of upstreams are read. */
  readonly echoes: Echoes | undefined
  /** Called when something was added to the event log. */
  readonly told: () => void
  readonly lexical: Lexical
  readonly knownCounts: KnownCounts
  readonly uses: Uses
  /** What upstreams have shown of what they declare. */
  readonly trust: Trust
  readonly width: Width
  /** Held while an id is looked up and written, and while records of an owner move. */
  readonly locks: KeyedLock
  readonly blame: Blame
  readonly observeFusion: (fusion: { readonly lists: number; readonly candidates: number }) => void
  /** Called between the steps of a move, by name: a test lets the process die there. */
  readonly step: (name: string) => void
  /** How far the caller's roles reach in this call; undefined where nothing bounds them. */
  readonly reach: Reach | undefined
  /** All there is, for what must be known before anything is written. Nothing of it may be told to a caller whose reach is bounded. */
  readonly whole: Parts
  /** The same for another method of the same caller. */
  readonly as: (method: Method) => Parts
}

/** A handler of one method; params are checked, scoped and within the contract. */
export type Handler<P, R> = (parts: Parts, params: P, context: Context) => Promise<R>
