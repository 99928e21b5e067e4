import type { UpstreamConfig } from '../config/config.js'
import { Cancellation } from '../protocol/cancellation.js'
import { messageOf } from '../protocol/errors.js'
import type { Context, Memory } from '../protocol/memory.js'
import type { Description } from '../protocol/methods.js'
import type { Clock } from '../protocol/time.js'
import {
  disagrees,
  discover,
  Incompatible,
  restoreProfile,
  type UpstreamProfile,
} from './profile.js'
import { Breaker, type BreakerState, withBreaker } from './with-breaker.js'
import { withLimit } from './with-limit.js'
import { withRetry } from './with-retry.js'

/** `unread`: never described itself. `up` and `down`: by the last reading or call. `incompatible`: another version, kept out. */
export type UpstreamState = 'unread' | 'up' | 'down' | 'incompatible'

/** What an upstream does that somebody may want to count or log. Told by name of the upstream. */
export interface UpstreamEvents {
  state(upstream: string, state: UpstreamState, reason: string | undefined): void
  breaker(upstream: string, state: BreakerState): void
  profileMismatch(upstream: string): void
}

/** An upstream as a transport reaches it, before anything is wrapped around it. */
export interface Reached {
  readonly memory: Memory
  /** Reads the advisory profile; absent where the transport has none. */
  readonly wellKnown?: (context: Context) => Promise<Description | undefined>
  /** What it was found to lack for being used as it is configured, for people. */
  readonly flaws?: () => readonly string[]
}

export interface UpstreamOptions {
  readonly config: UpstreamConfig
  readonly reached: Reached
  readonly clock: Clock
  readonly events: UpstreamEvents
  /** The stored profile of an earlier run, and where to keep the next one. */
  readonly stored: string | undefined
  readonly store: (profile: string) => void
}

/** A slow describe says nothing against an upstream that answers calls, so it may take this many times a call's limit. */
const DISCOVERY_PATIENCE = 5

/** One upstream: what it says of itself, how it is doing, and the memory that is asked. */
export class Upstream {
  readonly name: string
  readonly config: UpstreamConfig
  /** Retries, breaker and concurrency limit are in it; params and results are in the upstream's own terms. */
  readonly memory: Memory
  readonly #options: UpstreamOptions
  readonly #breaker: Breaker
  #profile: UpstreamProfile | undefined
  #state: UpstreamState
  #reason: string | undefined
  #reading: Promise<void> | undefined
  #read = false
  /** Calls that were answered, so that a reading can tell whether any was meanwhile. */
  #answers = 0

  constructor(options: UpstreamOptions) {
    const { config, reached, clock, events, stored } = options
    this.#options = options
    this.name = config.name
    this.config = config
    this.#profile = stored === undefined ? undefined : restoreProfile(stored, config.access)
    this.#state = this.#profile === undefined ? 'unread' : 'down'
    this.#breaker = new Breaker({
      ...config.breaker,
      clock,
      onChange: (state) => events.breaker(config.name, state),
    })
    const noted = noting(reached.memory, () => this.#answered())
    const retried = withRetry(noted, { retries: config.retries, clock })
    const broken = withBreaker(retried, this.#breaker)
    this.memory = withLimit(broken, { concurrency: config.concurrency, clock })
  }

  /** The last good profile; undefined where it was never read, in this run or an earlier one. */
  get profile(): UpstreamProfile | undefined {
    return this.#profile
  }

  get state(): UpstreamState {
    return this.#state === 'up' && this.#breaker.state === 'open' ? 'down' : this.#state
  }

  /** Why it is not up, for people. */
  get reason(): string | undefined {
    return this.#reason
  }

  /** What it was found to lack for being used as it is configured, for people. */
  get flaws(): readonly string[] {
    return this.#options.reached.flaws?.() ?? []
  }

  /** The first reading of this run while it is under way. */
  get firstReading(): Promise<void> | undefined {
    return this.#read ? undefined : this.#reading
  }

  /** Reads its profile anew; however many ask for it at once, it is asked once. Never rejects. */
  refresh(): Promise<void> {
    this.#reading ??= this.#readProfile().finally(() => {
      this.#reading = undefined
      this.#read = true
    })
    return this.#reading
  }

  close(): Promise<void> {
    return this.memory.close()
  }

  async #readProfile(): Promise<void> {
    const { config, reached, store } = this.#options
    const context = this.#context()
    const advisory = this.#advisory(context)
    const answersBefore = this.#answers
    try {
      const { memory } = reached
      const { profile, stored } = await discover({ memory, context, access: config.access })
      this.#profile = profile
      this.#enter('up', undefined)
      void this.#compare(advisory, profile)
      store(stored)
    } catch (thrown) {
      const reason = messageOf(thrown)
      if (thrown instanceof Incompatible) this.#enter('incompatible', reason)
      else if (this.#profile === undefined) this.#enter('unread', reason)
      else if (this.#answers === answersBefore) this.#enter('down', reason)
    }
  }

  /** Undefined where there is none or it cannot be read, which says nothing of the upstream. */
  async #advisory(context: Context): Promise<Description | undefined> {
    try {
      return await this.#options.reached.wellKnown?.(context)
    } catch {
      return undefined
    }
  }

  /** Nobody waits for the advisory profile: a slow one must not keep a working upstream out. */
  async #compare(
    advisory: Promise<Description | undefined>,
    profile: UpstreamProfile,
  ): Promise<void> {
    const told = await advisory
    if (told !== undefined && disagrees(told, profile)) {
      this.#options.events.profileMismatch(this.name)
    }
  }

  #answered(): void {
    this.#answers++
    if (this.#state === 'down') this.#enter('up', undefined)
  }

  #enter(state: UpstreamState, reason: string | undefined): void {
    const changed = state !== this.#state || reason !== this.#reason
    this.#state = state
    this.#reason = reason
    if (changed) this.#options.events.state(this.name, state, reason)
  }

  #context(): Context {
    const { clock, config } = this.#options
    return internalContext(clock.monotonic() + config.timeout * DISCOVERY_PATIENCE)
  }
}

/** Tells of every call that had a result. */
function noting(inner: Memory, answered: () => void): Memory {
  return {
    async call(method, params, context) {
      const result = await inner.call(method, params, context)
      answered()
      return result
    },
    close: () => inner.close(),
  }
}

/** The context of a call that the gateway makes on its own account. `deadline` in ms of the monotonic clock. */
export function internalContext(deadline: number): Context {
  return {
    caller: { name: 'gateway', roles: [], scope: { kind: 'all' } },
    cancellation: new Cancellation(),
    deadline,
    connection: { closed: new Cancellation() },
    trace: '0'.repeat(32),
    observe: () => {},
  }
}
