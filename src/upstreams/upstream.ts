import type { UpstreamConfig } from '../config/config.js'
import { Cancellation } from '../protocol/cancellation.js'
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

  constructor(options: UpstreamOptions) {
    const { config, reached, clock, events, stored } = options
    this.#options = options
    this.name = config.name
    this.config = config
    this.#profile = stored === undefined ? undefined : restoreProfile(stored)
    this.#state = this.#profile === undefined ? 'unread' : 'down'
    this.#breaker = new Breaker({
      ...config.breaker,
      clock,
      onChange: (state) => events.breaker(config.name, state),
    })
    const retried = withRetry(reached.memory, { retries: config.retries, clock })
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

  /** A reading under way; undefined between readings. */
  get reading(): Promise<void> | undefined {
    return this.#reading
  }

  /** Reads its profile anew; however many ask for it at once, it is asked once. Never rejects. */
  refresh(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  close(): Promise<void> {
    return this.memory.close()
  }

  async #read(): Promise<void> {
    const { config, reached, events, store } = this.#options
    const context = this.#context()
    const advisory = reached.wellKnown?.(context).catch(() => undefined)
    try {
      const { memory } = reached
      const { profile, stored } = await discover({ memory, context, access: config.access })
      const told = await advisory
      if (told !== undefined && disagrees(told, profile)) events.profileMismatch(this.name)
      this.#profile = profile
      store(stored)
      this.#enter('up', undefined)
    } catch (thrown) {
      const reason = thrown instanceof Error ? thrown.message : String(thrown)
      if (thrown instanceof Incompatible) this.#enter('incompatible', reason)
      else this.#enter(this.#profile === undefined ? 'unread' : 'down', reason)
    }
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
