import { FAULTS, Fault, type FaultKind } from '../protocol/errors.js'
import type { Clock } from '../protocol/time.js'
import type { Wait } from './wire.js'

/** The longest delay that setTimeout takes; a longer one would fire at once. */
const LONGEST_DELAY = 2 ** 31 - 1

/**
 * One request from the moment it is wanted to its end, whichever comes first: an answer, a fault, its deadline, its
 * cancellation. It knows whether the request may have left, and so what a fault must say of the outcome.
 */
export class Attempt<T> {
  readonly promise: Promise<T>
  #sent = false
  #settled = false
  #resolve: (value: T) => void = () => {}
  #reject: (fault: Fault) => void = () => {}
  #release: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #unsubscribe: (() => void) | undefined

  constructor({ deadline, cancellation }: Wait, clock: Clock) {
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    const left = deadline - clock.monotonic()
    if (cancellation.cancelled) this.#cancel()
    else if (left <= 0) this.#expire()
    else {
      this.#timer = setTimeout(() => this.#expire(), Math.min(left, LONGEST_DELAY))
      this.#unsubscribe = cancellation.subscribe(() => this.#cancel())
    }
  }

  get settled(): boolean {
    return this.#settled
  }

  get sent(): boolean {
    return this.#sent
  }

  /** Calls `release` once the attempt has ended for whatever reason, at once when it has. One for each attempt. */
  onEnd(release: () => void): void {
    if (this.#settled) release()
    else this.#release = release
  }

  /** From here on the server may have acted. */
  markSent(): void {
    this.#sent = true
  }

  succeed(value: T): void {
    if (this.#end()) this.#resolve(value)
  }

  /** Ends with a fault whose outcome is `not_sent` as long as nothing can have left. */
  fail(kind: FaultKind, message: string): void {
    this.failWith(new Fault(kind, message, this.#sent ? FAULTS[kind] : 'not_sent'))
  }

  failWith(fault: Fault): void {
    if (this.#end()) this.#reject(fault)
  }

  #expire(): void {
    this.fail('timeout', 'no answer within the time limit')
  }

  #cancel(): void {
    this.fail('cancelled', 'the call was cancelled')
  }

  #end(): boolean {
    if (this.#settled) return false
    this.#settled = true
    clearTimeout(this.#timer)
    this.#unsubscribe?.()
    this.#release?.()
    return true
  }
}
