import { EventEmitter, once } from 'node:events'

/** Keeps what it is told, and lets a test wait for it. */
export class Log<T> {
  readonly all: T[] = []
  readonly #changes = new EventEmitter()

  add(entry: T): void {
    this.all.push(entry)
    this.#changes.emit('change')
  }

  /** Resolves when there are `count` entries. */
  async until(count: number): Promise<void> {
    while (this.all.length < count) await once(this.#changes, 'change')
  }
}
