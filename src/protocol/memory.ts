import type { Access } from './access.js'
import type { Cancellation } from './cancellation.js'
import type { Method, ParamsOf, ResultOf } from './methods.js'
import type { UpstreamReport } from './reports.js'
import type { LimitStanding, Usage } from './usage.js'

/**
 * Anything that can answer `memory/*`: a built-in store, an upstream over any transport, a federation of many, or a wrapper
 * around one of these. Params are already checked against the method's schema. `call` rejects with an `A2mError`, or with a
 * `Fault` where no usable answer came; after `close` it rejects.
 */
export interface Memory {
  call<M extends Method>(method: M, params: ParamsOf<M>, context: Context): Promise<ResultOf<M>>
  close(): Promise<void>
}

/**
 * Whose records a caller may touch: everyone's; those of certain owners; or only the records without an owner, which is
 * all that an anonymous caller on this machine has. There is no default.
 */
export type Scope =
  | { readonly kind: 'all' }
  | { readonly kind: 'owners'; readonly owners: readonly [string, ...string[]] }
  | { readonly kind: 'ownerless' }

/** Whom a call is made for. `name` is for logs and metering; it is no key to anything and no metric's label. */
export interface Caller {
  readonly name: string
  readonly roles: readonly string[]
  readonly scope: Scope
  /** What its roles grant. */
  readonly access?: Access
}

/** The role of a caller that is itself a gateway: it alone may send the extension (see `extension.ts`). */
export const GATEWAY_ROLE = 'gateway'

/**
 * The line that a call came in on. `push` is there only where the transport can carry a notification (§4.13); it resolves when
 * the line takes another without holding it in memory, or is gone.
 */
export interface Connection {
  readonly closed: Cancellation
  readonly push?: (notification: unknown) => Promise<void>
}

/** One ask of one upstream, as it ended. */
export interface Ask extends UpstreamReport {
  readonly upstream: string
  readonly method: Method
  readonly attempts: number
}

/** What may become of records that a call selects without naming each. */
export type Effect = 'forgotten' | 'moved' | 'promoted' | 'dropped'

/** What travels with a call and is not on the wire. */
export interface Context {
  readonly caller: Caller
  /** The call is no longer wanted when this is cancelled. A write that has begun is finished all the same. */
  readonly cancellation: Cancellation
  /** The instant, in ms of the monotonic clock, after which nobody waits any more; every wait counts against it. */
  readonly deadline: number
  readonly connection: Connection
  /** What the caller itself has called, where its roles bound it: all that is done for that is done by its right to that. */
  readonly called?: Method | undefined
  /** 32 hexadecimal digits that tie log lines of one call together, as in W3C Trace Context. */
  readonly trace: string
  /** Told of every ask when it ends. Must not throw. */
  readonly observe: (ask: Ask) => void
  /** In the context of one ask: told of each attempt before it is made. */
  readonly attempt?: () => void
  /** In the context of one ask: whose records it is about, null those without an owner, undefined everybody's. */
  readonly owner?: string | null | undefined
  /** Told at most once, what the call read and wrote. */
  readonly used?: (usage: Usage) => void
  /** Told which records a call has changed that it need not have named, by the ids under which callers know them. */
  readonly touched?: (effect: Effect, ids: readonly string[]) => void
  /**
   * Told which entries of a remember were not written, since their ids were there already, by their places in the batch. Ids are
   * looked up for it where they would else be left to the store.
   */
  readonly existed?: (places: readonly number[]) => void
  /** Told of every limit that the call counts against, once it is decided. */
  readonly limited?: (standing: LimitStanding) => void
}
