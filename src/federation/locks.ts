import { Fault } from '../protocol/errors.js'
import type { Context } from '../protocol/memory.js'
import type { Clock } from '../protocol/time.js'

/** Who waits for a turn, and until when. */
type Waiting = Pick<Context, 'deadline' | 'cancellation'>

/** A key to hold: alone, or together with others that hold it `shared`. Keys begin with the owner. */
export type LockKey = string | { readonly shared: string }

/** Who holds a key or waits for it: the last that wants it alone, and those after that one who share it. */
interface Queue {
  readonly alone: Promise<unknown> | undefined
  readonly sharing: Set<Promise<unknown>>
}

/** Runs tasks of one key one after the other, tasks of different keys side by side, as those that share one. */
export class KeyedLock {
  readonly #queues = new Map<string, Queue>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Runs `task` when every earlier task of each of the keys has ended, however it ended. A task whose turn has not come by its
   * deadline, or whose caller has left, never runs (`busy`, `cancelled`).
   */
  run<T>(keys: readonly LockKey[], wait: Waiting, task: () => Promise<T>): Promise<T> {
    if (keys.length === 0) return begin(task)
    const modes = modesOf(keys)
    const before = [...modes].flatMap(([key, mode]) => this.#before(key, mode))
    if (before.length === 0) return this.#hold(modes, begin(task))
    const free = Promise.all(before)
    return this.#hold(modes, this.#turn(free, wait).then(task), free)
  }

  /** How the key is held or waited for at this moment; alone, where both ways. */
  holding(key: string): Mode | undefined {
    const queue = this.#queues.get(key)
    if (queue === undefined) return undefined
    return queue.alone === undefined ? 'shared' : 'alone'
  }

  #before(key: string, mode: Mode): readonly Promise<unknown>[] {
    const queue = this.#queues.get(key)
    if (queue === undefined) return []
    const first = queue.alone === undefined ? [] : [queue.alone]
    return mode === 'shared' ? first : [...first, ...queue.sharing]
  }

  /** Later tasks wait for this one, and where it gave up, for those before it all the same. */
  #hold<T>(modes: Modes, turn: Promise<T>, free?: Promise<unknown>): Promise<T> {
    const tail = Promise.allSettled([free, turn])
    for (const [key, mode] of modes) {
      if (mode === 'alone') this.#queues.set(key, { alone: tail, sharing: new Set() })
      else this.#share(key).add(tail)
    }
    void tail.then(() => this.#forget(modes, tail))
    return turn
  }

  #share(key: string): Set<Promise<unknown>> {
    const queue = this.#queues.get(key) ?? { alone: undefined, sharing: new Set() }
    this.#queues.set(key, queue)
    return queue.sharing
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

  #forget(modes: Modes, tail: Promise<unknown>): void {
    for (const key of modes.keys()) {
      const queue = this.#queues.get(key)
      if (queue === undefined) continue
      queue.sharing.delete(tail)
      const alone = queue.alone === tail ? undefined : queue.alone
      if (alone === undefined && queue.sharing.size === 0) this.#queues.delete(key)
      else if (alone !== queue.alone) this.#queues.set(key, { alone, sharing: queue.sharing })
    }
  }
}

type Mode = 'alone' | 'shared'
type Modes = ReadonlyMap<string, Mode>

/** Each key once; one that is wanted both ways is held alone. */
function modesOf(keys: readonly LockKey[]): Modes {
  const modes = new Map<string, Mode>()
  for (const key of keys) {
    if (typeof key === 'string') modes.set(key, 'alone')
    else if (!modes.has(key.shared)) modes.set(key.shared, 'shared')
  }
  return modes
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
