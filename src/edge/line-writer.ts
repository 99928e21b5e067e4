import type { Writable } from 'node:stream'

/** Writes lines to a stream that may be slow or go away. */
export class LineWriter {
  readonly #output: Writable
  #gone = false
  #waiting: (() => void)[] = []

  /** `onGone` is told once when the other side reads no more. */
  constructor(output: Writable, onGone: () => void) {
    this.#output = output
    const gone = (): void => {
      if (this.#gone) return
      this.#gone = true
      this.#wake()
      onGone()
    }
    output.on('error', gone)
    output.on('close', gone)
    output.on('drain', () => this.#wake())
  }

  /** What is written after the other side has gone is dropped. */
  write(line: string): void {
    if (!this.#gone) this.#output.write(`${line}\n`)
  }

  /** Resolves once the stream takes more without holding it in memory, or is gone. */
  drained(): Promise<void> {
    if (this.#gone || !this.#output.writableNeedDrain) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}
