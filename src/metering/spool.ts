import type { Lane, Segment } from './lane.js'
import { segmentPath } from './lane.js'
import type { SpoolFiles } from './spool-files.js'

/** How the spool stands. */
export interface SpoolState {
  /** Bytes on disk that are in no ledger yet. */
  readonly bytes: number
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

export interface SpoolOptions {
  /** Where segments go; asked for until it can be had. */
  readonly lane: () => Lane
  readonly files: SpoolFiles
  readonly durability: 'normal' | 'full'
  /** A segment that has as many bytes is ended. */
  readonly segmentBytes: number
  /** The most bytes on disk that wait for the ledger. */
  readonly maxBytes: number
  /** The most events that wait in memory while the disk takes none. */
  readonly maxHeld: number
  readonly retryMs: number
  readonly events: SpoolEvents
}

interface Open {
  readonly number: number
  readonly path: string
  readonly file: number
  bytes: number
}

/**
 * Keeps events on disk before the answer goes out, as lines in segments that are only added to. All events of one turn of the event
 * loop are one write. What cannot be written waits in memory and is tried again.
 */
export class Spool {
  readonly #options: SpoolOptions
  #turn: Promise<void> | undefined
  #pending: string[] = []
  #held: string[] = []
  #open: Open | undefined
  #closed: Segment[] = []
  #closedBytes = 0
  #next: number | undefined
  readonly #unsynced = new Set<number>()
  #syncing: Promise<void> | undefined
  #nextSync: Promise<void> | undefined
  #failure: string | undefined
  #retry: NodeJS.Timeout | undefined
  #ended = false

  constructor(options: SpoolOptions) {
    this.#options = options
  }

  get state(): SpoolState {
    const bytes = this.#closedBytes + (this.#open?.bytes ?? 0)
    return { bytes, held: this.#held.length, failure: this.#failure }
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
  rotate(): readonly Segment[] {
    const open = this.#open
    if (open !== undefined && open.bytes > 0) this.#shut(open)
    return this.#closed
  }

  /** Removes a segment whose events are in the ledger. */
  remove(segment: Segment): void {
    this.#options.files.remove(segment.path)
    this.#closed = this.#closed.filter(({ number }) => number !== segment.number)
    this.#closedBytes -= segment.bytes
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
    const bytes = Buffer.from(`${lines.join('\n')}\n`)
    try {
      const open = this.#writable(bytes.length)
      if (this.#options.files.write(open.file, bytes) < bytes.length) throw new Error(DISK_FULL)
      open.bytes += bytes.length
      if (this.#options.durability === 'full') this.#unsynced.add(open.file)
    } catch (thrown) {
      this.#fail(reasonOf(thrown))
      return false
    }
    this.#options.events.written(lines.length)
    return true
  }

  #writable(bytes: number): Open {
    const { maxBytes, segmentBytes, files, lane } = this.#options
    if (this.state.bytes + bytes > maxBytes) throw new Error(SPOOL_FULL)
    if (this.#open !== undefined && this.#open.bytes >= segmentBytes) this.#shut(this.#open)
    if (this.#open !== undefined) return this.#open
    const { folder, firstSegment } = lane()
    if (this.#next === undefined) this.#adopt(folder)
    const number = this.#next ?? firstSegment
    const path = segmentPath(folder, number)
    this.#open = { number, path, file: files.create(path), bytes: 0 }
    this.#next = number + 1
    return this.#open
  }

  /** What an earlier run left is waiting too. */
  #adopt(folder: string): void {
    const left = this.#options.files.list(folder)
    this.#closed = [...left, ...this.#closed]
    this.#closedBytes += left.reduce((sum, { bytes }) => sum + bytes, 0)
    this.#next = this.#options.lane().firstSegment
  }

  #shut(open: Open): void {
    const { files } = this.#options
    this.#open = undefined
    this.#closed = [...this.#closed, { number: open.number, path: open.path, bytes: open.bytes }]
    this.#closedBytes += open.bytes
    if (this.#options.durability === 'normal') files.close(open.file)
    else void this.#synced().then(() => files.close(open.file))
  }

  /** What was written in part is cut off again, and nothing is ever added behind what could not be. */
  #fail(reason: string): void {
    const open = this.#open
    if (open !== undefined) {
      quietly(() => this.#options.files.truncate(open.file, open.bytes))
      this.#shut(open)
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

  #again(): void {
    const lines = this.#held
    if (lines.length > 0 && !this.#write(lines)) return
    this.#held = []
    this.#failure = undefined
    this.#options.events.failing(undefined)
  }

  /** One flush of the disk at a time: all who come while one is under way share the next. */
  #synced(): Promise<void> {
    this.#nextSync ??= (this.#syncing ?? Promise.resolve()).then(() => {
      this.#syncing = this.#nextSync
      this.#nextSync = undefined
      return this.#sync()
    })
    this.#syncing ??= this.#nextSync
    return this.#nextSync
  }

  async #sync(): Promise<void> {
    const files = [...this.#unsynced]
    this.#unsynced.clear()
    try {
      await Promise.all(files.map((file) => this.#options.files.sync(file)))
    } catch (thrown) {
      this.#fail(reasonOf(thrown))
    }
  }
}

function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

const DISK_FULL = 'the disk is full'
const SPOOL_FULL = 'the spool is full: the ledger has not taken what waits there'

function quietly(task: () => void): void {
  try {
    task()
  } catch {
    return
  }
}
