import { A2mError, Fault } from '../protocol/errors.js'
import type { Memory } from '../protocol/memory.js'
import type { Clock } from '../protocol/time.js'

export type BreakerState = 'closed' | 'open' | 'half-open'

export interface BreakerOptions {
  /** Faults in a row that open it. */
  readonly failures: number
  /** Milliseconds that it stays open before one call may try. */
  readonly reset: number
  readonly clock: Clock
  readonly onChange: (state: BreakerState) => void
}

/**
 * Faults that say something of the upstream's health. An error that it answered, or an
 * answer too large for us, is an answer; a queue of ours is ours.
 */
const COUNTED: ReadonlySet<string> = new Set(['unreachable', 'timeout', 'cut', 'bad_reply'])

/**
 * Stops asking an upstream that keeps failing. Once `reset` has passed a single call probes it while all others still fail
 * at once (`unavailable`); its success closes, its failure opens anew. A probe that was called off decides nothing.
 */
export class Breaker {
  readonly #options: BreakerOptions
  #state: BreakerState = 'closed'
  #inRow = 0
  #openedAt = 0

  constructor(options: BreakerOptions) {
    this.#options = options
  }

  get state(): BreakerState {
    return this.#state
  }

  /** Asks for leave to call; `probe` must be given back to `settle`. Throws where there is none. */
  enter(): 'normal' | 'probe' {
    if (this.#state === 'closed') return 'normal'
    const rested = this.#options.clock.monotonic() - this.#openedAt >= this.#options.reset
    if (this.#state === 'half-open' || !rested) {
      throw new Fault('unavailable', 'not asked: it has kept failing and is given a rest')
    }
    this.#change('half-open')
    return 'probe'
  }

  /** Learns how a call ended; `thrown` is undefined where it was answered. Late ends of calls from before are no probes. */
  settle(entry: 'normal' | 'probe', thrown: unknown): void {
    if (thrown === undefined || thrown instanceof A2mError) this.#succeed(entry)
    else if (thrown instanceof Fault && COUNTED.has(thrown.kind)) this.#fail(entry)
    else if (entry === 'probe') this.#change('open')
  }

  #succeed(entry: 'normal' | 'probe'): void {
    if (entry !== 'probe' && this.#state !== 'closed') return
    this.#inRow = 0
    this.#change('closed')
  }

  #fail(entry: 'normal' | 'probe'): void {
    this.#inRow++
    const opens = this.#state === 'closed' && this.#inRow >= this.#options.failures
    if (entry !== 'probe' && !opens) return
    this.#openedAt = this.#options.clock.monotonic()
    this.#change('open')
  }

  #change(state: BreakerState): void {
    if (state === this.#state) return
    this.#state = state
    this.#options.onChange(state)
  }
}

export function withBreaker(inner: Memory, breaker: Breaker): Memory {
  return {
    async call(method, params, context) {
      const entry = breaker.enter()
      try {
        const result = await inner.call(method, params, context)
        breaker.settle(entry, undefined)
        return result
      } catch (thrown) {
        breaker.settle(entry, thrown)
        throw thrown
      }
    },
    close: () => inner.close(),
  }
}
