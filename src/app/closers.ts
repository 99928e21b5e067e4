type Close = () => unknown

/** What has been opened so far, to be closed in reverse. */
export class Closers {
  readonly #closes: Close[] = []

  add(close: Close): void {
    this.#closes.push(close)
  }

  /** Closes all, each once; one that fails holds up none of the others. Rejects with the first failure. */
  async close(): Promise<void> {
    const failures: unknown[] = []
    for (let close = this.#closes.pop(); close !== undefined; close = this.#closes.pop()) {
      try {
        await close()
      } catch (thrown) {
        failures.push(thrown)
      }
    }
    if (failures.length > 0) throw failures[0]
  }
}
