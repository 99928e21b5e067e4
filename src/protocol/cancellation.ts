/**
 * A signal that a call is no longer wanted. It does what an AbortSignal would at a small part of the cost, which counts
 * because every call and every ask of an upstream has one.
 */
export class Cancellation {
  #listeners: Set<() => void> | undefined
  #cancelled = false

  get cancelled(): boolean {
    return this.#cancelled
  }

  /** Tells every listener once, except those undone meanwhile; later calls do nothing. Listeners must not throw. */
  cancel(): void {
    if (this.#cancelled) return
    this.#cancelled = true
    for (const listener of this.#listeners ?? []) listener()
    this.#listeners = undefined
  }

  /** Calls `listener` on cancellation, at once when that has been. Returns the undo. */
  subscribe(listener: () => void): () => void {
    if (this.#cancelled) {
      listener()
      return () => {}
    }
    this.#listeners ??= new Set()
    this.#listeners.add(listener)
    return () => this.#listeners?.delete(listener)
  }
}
