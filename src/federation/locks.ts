import { Fault } from '../protocol/errors.js'
import type { Context } from '../protocol/memory.js'
import type { Clock } from '../protocol/time.js'

/** Who waits for a turn, and until when. */
type Waiting = Pick<Context, 'deadline' | 'cancellation'>

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
  run<T>(keys: readonly string[], wait: Waiting, task: () => Promise<T>): Promise<T> {
    const before = [...new Set(keys)].flatMap((key) => this.#tails.get(key) ?? [])
    if (before.length === 0) return this.#hold(keys, begin(task))
    const free = Promise.all(before)
    return this.#hold(keys, this.#turn(free, wait).then(task), free)
  }

  /** Later tasks wait for this one, and where it gave up, for those before it all the same. */
  #hold<T>(keys: readonly string[], turn: Promise<T>, free?: Promise<unknown>): Promise<T> {
    const tail = Promise.allSettled([free, turn])
    for (const key of keys) this.#tails.set(key, tail)
    void tail.then(() => this.#forget(keys, tail))
    return turn
  }

  /** Once the turn has come, it is for the task to keep the deadline. */
  #turn(free: Promise<unknown>, { deadline, cancellation }: Waiting): Promise<void> {
    if (cancellation.cancelled) return Promise.reject(gone())
    return new Promise((resolve, reject) => {
      const left = deadline - this.#clock.monotonic()
      const timer = setTimeout(() => stop(busy()), Math.min(MOST_TIMEOUT, Math.max(0, left)))
      const unsubscribe = cancellation.subscribe(() => stop(gone()))
      const stop = (fault?: Fault) => {
        clearTimeout(timer)
        unsubscribe()
        if (fault === undefined) resolve()
        else reject(fault)
      }
      void free.then(() => stop(this.#clock.monotonic() < deadline ? undefined : busy()))
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
