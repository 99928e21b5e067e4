/** Runs tasks of one key one after the other, tasks of different keys side by side. Keys begin with the owner. */
export class KeyedLock {
  readonly #tails = new Map<string, Promise<unknown>>()

  /** Runs `task` when every earlier task of each of the keys has ended, however it ended. */
  run<T>(keys: readonly string[], task: () => Promise<T>): Promise<T> {
    const before = [...new Set(keys)].map((key) => this.#tails.get(key))
    const turn = Promise.all(before).then(task)
    const tail = turn.catch(() => undefined)
    for (const key of keys) this.#tails.set(key, tail)
    void tail.then(() => this.#forget(keys, tail))
    return turn
  }

  #forget(keys: readonly string[], tail: Promise<unknown>): void {
    for (const key of keys) if (this.#tails.get(key) === tail) this.#tails.delete(key)
  }
}
