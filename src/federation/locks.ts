import { Fault } from '../protocol/errors.js'
import type { Context } from '../protocol/memory.js'
import type { Clock } from '../protocol/time.js'

/** Runs tasks of one key one after the other, tasks of different keys side by side. Keys begin with the owner. */
export class KeyedLock {
  readonly #tails = new Map<string, Promise<unknown>>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Runs `task` when every earlier task of each of the keys has ended, however it ended. A task whose turn has not come by its
   * deadline, or whose caller has left, never runs (`busy`, `cancelled`).
   */
  run<T>(
    keys: readonly string[],
    wait: Pick<Context, 'deadline' | 'cancellation'>,
    task: () => Promise<T>,
  ): Promise<T> {
    const before = [...new Set(keys)].flatMap((key) => this.#tails.get(key) ?? [])
    if (before.length === 0) return this.#hold(keys, begin(task))
    let given: Fault | undefined
    const turn = Promise.all(before).then(() => {
      if (given !== undefined) throw given
      return task()
    })
    const gaveUp = this.#patience(wait, turn, (fault) => {
      given = fault
    })
    return Promise.race([this.#hold(keys, turn), gaveUp])
  }

  #hold<T>(keys: readonly string[], turn: Promise<T>): Promise<T> {
    if (keys.length === 0) return turn
    const tail = turn.catch(() => undefined)
    for (const key of keys) this.#tails.set(key, tail)
    void tail.then(() => this.#forget(keys, tail))
    return turn
  }

  /** Rejects when waiting has become pointless; once the turn has come it is for the task to keep the deadline. */
  #patience(
    { deadline, cancellation }: Pick<Context, 'deadline' | 'cancellation'>,
    turn: Promise<unknown>,
    giveUp: (fault: Fault) => void,
  ): Promise<never> {
    return new Promise((_, reject) => {
      const stop = (fault: Fault) => {
        giveUp(fault)
        reject(fault)
      }
      const left = Math.min(MOST_TIMEOUT, Math.max(0, deadline - this.#clock.monotonic()))
      const timer = setTimeout(() => stop(busy()), left)
      const unsubscribe = cancellation.subscribe(() => stop(gone()))
      const over = () => {
        clearTimeout(timer)
        unsubscribe()
      }
      turn.then(over, over)
    })
  }

  #forget(keys: readonly string[], tail: Promise<unknown>): void {
    for (const key of keys) if (this.#tails.get(key) === tail) this.#tails.delete(key)
  }
}

/** A task that throws at once fails as one that rejects. */
async function begin<T>(task: () => Promise<T>): Promise<T> {
  return task()
}

/** The longest that a timer can wait; a deadline beyond it is none. */
const MOST_TIMEOUT = 2 ** 31 - 1

function busy(): Fault {
  return new Fault('busy', 'other writes to the same records were waited for too long')
}

function gone(): Fault {
  return new Fault('cancelled', 'the caller left', 'not_sent')
}
