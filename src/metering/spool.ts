import { messageOf } from '../protocol/errors.js'
import { Segments, type SegmentsOptions, type Waiting } from './segments.js'

/** How the spool stands. */
export interface SpoolState {
  /** Bytes on disk that are in no ledger yet. */
  readonly bytes: number
  /** Ms since the oldest event came that is in no ledger yet. */
  readonly age: number
  /** Events that could not be written and wait in memory. */
  readonly held: number
  /** Why nothing can be written, for people; undefined while it can. */
  readonly failure: string | undefined
}

/** What the spool tells of. Must not throw. */
export interface SpoolEvents {
  written(events: number): void
  /** Events that nothing has room for any more. */
  lost(events: number): void
  /** It cannot be written from here on; `undefined` once it can again. */
  failing(reason: string | undefined): void
}

export interface SpoolOptions extends SegmentsOptions {
  /** The most events that wait in memory while the disk takes none. */
  readonly maxHeld: number
  readonly retryMs: number
  readonly events: SpoolEvents
}

/**
 * Keeps events on disk before the answer goes out, as lines in segments that are only added to. All events of one turn of the event
 * loop are one write. What cannot be written waits in memory and is tried again.
 */
export class Spool {
  readonly #options: SpoolOptions
  readonly #segments: Segments
  #turn: Promise<void> | undefined
  #pending: string[] = []
  #held: string[] = []
  #failure: string | undefined
  #retry: NodeJS.Timeout | undefined
  #ended = false

  constructor(options: SpoolOptions) {
    this.#options = options
    this.#segments = new Segments(options)
  }

  get state(): SpoolState {
    const { bytes, age } = this.#segments
    return { bytes, age, held: this.#held.length, failure: this.#failure }
  }

  /** Finds what an earlier run has left, so that it gets into the ledger though nobody calls. */
  start(): void {
    try {
      this.#segments.start()
    } catch (thrown) {
      this.#fail(thrown)
    }
  }

  /** Resolves when the event is on disk, or is known not to get there for now; it never rejects. */
  append(line: string): Promise<void> | undefined {
    if (this.#ended) {
      this.#options.events.lost(1)
      return undefined
    }
    if (this.#failure !== undefined) {
      this.#hold([line])
      return undefined
    }
    this.#pending.push(line)
    this.#turn ??= new Promise((resolve) => {
      setImmediate(() => resolve(this.#flush()))
    })
    return this.#turn
  }

  /** Ends the segment that is written to. Returns all that wait for the ledger, oldest first. */
  rotate(): readonly Waiting[] {
    return this.#segments.rotate()
  }

  /** Removes a segment whose events are in the ledger. */
  remove(segment: Waiting): void {
    this.#segments.remove(segment)
  }

  /** Gives up a segment whose file somebody has removed. False where it is there. */
  dropMissing(segment: Waiting): boolean {
    return this.#segments.dropMissing(segment)
  }

  /** Writes what waits, as far as it can be written. From here on nothing more is taken. */
  async end(): Promise<void> {
    clearTimeout(this.#retry)
    await this.#flush()
    if (this.#held.length > 0) this.#again()
    clearTimeout(this.#retry)
    this.#ended = true
    if (this.#held.length > 0) this.#options.events.lost(this.#held.length)
    this.#held = []
    this.rotate()
    if (this.#options.durability === 'full') await this.#synced()
  }

  #flush(): Promise<void> | undefined {
    const lines = this.#pending
    this.#pending = []
    this.#turn = undefined
    if (lines.length === 0) return undefined
    if (this.#failure !== undefined || !this.#write(lines)) {
      this.#hold(lines)
      return undefined
    }
    return this.#options.durability === 'full' ? this.#synced() : undefined
  }

  /** False, and failing from then on, where it could not be written whole. */
  #write(lines: readonly string[]): boolean {
    try {
      this.#segments.write(Buffer.from(lines.map((line) => `${line}\n`).join('')))
    } catch (thrown) {
      this.#fail(thrown)
      return false
    }
    if (lines.length > 0) this.#options.events.written(lines.length)
    return true
  }

  async #synced(): Promise<void> {
    try {
      await this.#segments.synced()
    } catch (thrown) {
      this.#fail(thrown)
    }
  }

  #fail(thrown: unknown): void {
    const reason = messageOf(thrown)
    try {
      this.#segments.cutOff()
    } catch {
      // What is left of a line is passed over when the segment is read.
    }
    if (this.#failure === undefined) this.#options.events.failing(reason)
    this.#failure = reason
    clearTimeout(this.#retry)
    this.#retry = setTimeout(() => this.#again(), this.#options.retryMs)
    this.#retry.unref()
  }

  #hold(lines: readonly string[]): void {
    const room = Math.max(0, this.#options.maxHeld - this.#held.length)
    this.#held.push(...lines.slice(0, room))
    if (lines.length > room) this.#options.events.lost(lines.length - room)
  }

  /** With nothing in hand it tries whether there is a file to write to. */
  #again(): void {
    if (!this.#write(this.#held)) return
    this.#held = []
    this.#failure = undefined
    this.#options.events.failing(undefined)
  }
}
