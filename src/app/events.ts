import type { FederationEvents } from '../federation/federation.js'
import type { Log } from '../telemetry/logs.js'
import type { Metrics, UpstreamStatus } from '../telemetry/metrics.js'
import type { UpstreamEvents } from '../upstreams/upstream.js'
import type { BreakerState } from '../upstreams/with-breaker.js'

/** How every upstream stands, kept up from what is told of them. */
export class Standing {
  readonly #states = new Map<string, string>()
  readonly #breakers = new Map<string, BreakerState>()

  constructor(upstreams: readonly { readonly name: string }[]) {
    for (const { name } of upstreams) {
      this.#states.set(name, 'unread')
      this.#breakers.set(name, 'closed')
    }
  }

  breaker(upstream: string): BreakerState {
    return this.#breakers.get(upstream) ?? 'closed'
  }

  /** For metrics. */
  all(): readonly UpstreamStatus[] {
    return [...this.#states].map(([upstream, state]) => ({
      upstream,
      state,
      breaker: this.breaker(upstream),
    }))
  }

  /** What happens to upstreams is kept, counted and logged. */
  events(log: Log, metrics: Metrics): UpstreamEvents {
    return {
      state: (upstream, state, reason) => {
        this.#states.set(upstream, state)
        if (state === 'up') log.info({ upstream, state }, 'an upstream is there')
        else log.warn({ upstream, state, reason }, 'an upstream is not there')
      },
      breaker: (upstream, breaker) => {
        this.#breakers.set(upstream, breaker)
        log.warn({ upstream, breaker }, 'a breaker changed')
      },
      profileMismatch: (upstream) => {
        metrics.happened('profile_mismatch', upstream)
        log.warn({ upstream }, 'its well-known profile is not what memory/describe says')
      },
    }
  }
}

/** What a federation does is counted and logged. */
export function federationEvents(log: Log, metrics: Metrics): FederationEvents {
  return {
    blame(upstream, what, count) {
      metrics.happened(what, upstream, count)
      log.debug({ upstream, what, count }, 'an answer was put right')
    },
    fusion: (sizes) => metrics.fused(sizes),
    unfinished: (problem) => log.warn({ problem }, 'something begun earlier is not finished yet'),
    tail: (upstream, problem) => log.warn({ upstream, problem }, 'events of an upstream'),
  }
}
