/** Where one can be woken when something was appended to a log. */
export interface Changes {
  /** Returns the undo. The listener is called often and must neither wait nor throw. */
  subscribe(listener: () => void): () => void
}

/** Those who want to be woken. */
export class Listeners implements Changes {
  readonly #listeners = new Set<() => void>()

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  wake(): void {
    for (const listener of this.#listeners) listener()
  }
}
