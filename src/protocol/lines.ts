const NEWLINE = 0x0a

/**
 * Splits a byte stream at `\n` (§8.2) before anything is decoded, so that a character cut in two by a chunk border is
 * whole again. A line over `maxBytes` is dropped while it arrives: `onOverlong` is told once for each, memory stays bounded.
 */
export class LineSplitter {
  readonly #maxBytes: number
  readonly #onOverlong: () => void
  #held: Buffer[] = []
  #heldBytes = 0
  #dropping = false

  constructor(maxBytes: number, onOverlong: () => void) {
    this.#maxBytes = maxBytes
    this.#onOverlong = onOverlong
  }

  /** Takes one chunk and returns the lines that it completes, without their line break. */
  push(chunk: Buffer): Buffer[] {
    const lines: Buffer[] = []
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      this.#hold(chunk.subarray(start, end))
      this.#release(lines)
      start = end + 1
    }
    if (start < chunk.length) this.#hold(chunk.subarray(start))
    return lines
  }

  /** What is left when the stream ends without a line break; undefined when nothing is. */
  end(): Buffer | undefined {
    const lines: Buffer[] = []
    if (this.#heldBytes > 0) this.#release(lines)
    return lines[0]
  }

  #hold(part: Buffer): void {
    if (this.#dropping) return
    this.#heldBytes += part.length
    if (this.#heldBytes > this.#maxBytes) {
      this.#dropping = true
      this.#held = []
      this.#onOverlong()
    } else if (part.length > 0) {
      this.#held.push(part)
    }
  }

  #release(lines: Buffer[]): void {
    const [first] = this.#held
    if (!this.#dropping) {
      lines.push(this.#held.length === 1 && first ? first : Buffer.concat(this.#held))
    }
    this.#held = []
    this.#heldBytes = 0
    this.#dropping = false
  }
}
