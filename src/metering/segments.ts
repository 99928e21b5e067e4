import { type Lane, type Segment, segmentPath } from './lane.js'
import type { SpoolFiles } from './spool-files.js'

export interface SegmentsOptions {
  /** Where segments go; asked for until it can be had. */
  readonly lane: () => Lane
  readonly files: SpoolFiles
  readonly durability: 'normal' | 'full'
  /** A segment that has as many bytes is ended. */
  readonly segmentBytes: number
  /** The most bytes on disk that wait for the ledger. */
  readonly maxBytes: number
  /** Ms of the monotonic clock. */
  readonly monotonic: () => number
}

/** A segment that waits for the ledger, under the id of the lane that it is of. `since` is when it was begun, or found, on the monotonic clock. */
export interface Waiting extends Segment {
  readonly lane: string
  readonly since: number
}

interface Open {
  readonly lane: string
  readonly number: number
  readonly path: string
  readonly file: number
  readonly since: number
  bytes: number
}

/** The files of the spool: one that is added to, and those that wait for the ledger. Whatever cannot be done throws. */
export class Segments {
  readonly #options: SegmentsOptions
  readonly #unsynced = new Set<number>()
  #open: Open | undefined
  #waiting: readonly Waiting[] = []
  #waitingBytes = 0
  #lane: Lane | undefined
  #next = 0
  #syncing: Promise<void> | undefined
  #nextSync: Promise<void> | undefined

  constructor(options: SegmentsOptions) {
    this.#options = options
  }

  /** On disk and in no ledger yet. */
  get bytes(): number {
    return this.#waitingBytes + (this.#open?.bytes ?? 0)
  }

  /** Ms since the oldest event came that is in no ledger yet; 0 where there is none. */
  get age(): number {
    const since = this.#waiting[0]?.since ?? this.#open?.since
    return since === undefined ? 0 : this.#options.monotonic() - since
  }

  /** Takes the lane, and what an earlier run has left there. It is another one where the folder was removed meanwhile. */
  start(): void {
    const { lane, files, monotonic } = this.#options
    const taken = lane()
    if (taken === this.#lane) return
    const since = monotonic()
    const known = new Set(this.#waiting.map(({ path }) => path))
    const found = files.list(taken.folder).filter(({ path }) => !known.has(path))
    const left = found.map((segment) => ({ ...segment, lane: taken.id, since }))
    this.#waiting = [...left, ...this.#waiting]
    this.#waitingBytes += left.reduce((sum, { bytes }) => sum + bytes, 0)
    this.#lane = taken
    this.#next = taken.firstSegment
  }

  write(bytes: Uint8Array): void {
    const { files, durability } = this.#options
    const open = this.#writable(bytes.length)
    if (files.write(open.file, bytes) < bytes.length) throw new Error(DISK_FULL)
    open.bytes += bytes.length
    if (durability === 'full') this.#unsynced.add(open.file)
  }

  /** Takes off what was written in part. Nothing is ever added behind what could not be. */
  cutOff(): void {
    const open = this.#open
    if (open === undefined) return
    try {
      this.#options.files.truncate(open.file, open.bytes)
    } finally {
      this.#shut(open)
    }
  }

  /** Ends the segment that is written to. Returns all that wait for the ledger, oldest first. */
  rotate(): readonly Waiting[] {
    const open = this.#open
    if (open !== undefined && open.bytes > 0) this.#shut(open)
    return this.#waiting
  }

  /** Removes a segment whose events are in the ledger. */
  remove(segment: Waiting): void {
    this.#options.files.remove(segment.path)
    this.#drop(segment)
  }

  /** Gives up a segment whose file somebody has removed. False where it is there. */
  dropMissing(segment: Waiting): boolean {
    if (this.#options.files.has(segment.path)) return false
    this.#drop(segment)
    return true
  }

  #drop(segment: Waiting): void {
    this.#waiting = this.#waiting.filter(({ path }) => path !== segment.path)
    this.#waitingBytes -= segment.bytes
  }

  /** Resolves when what was written survives loss of power. All who come while one flush is under way share the next. */
  synced(): Promise<void> {
    this.#nextSync ??= (this.#syncing ?? Promise.resolve()).then(() => {
      this.#syncing = this.#nextSync?.catch(() => {})
      this.#nextSync = undefined
      return this.#sync()
    })
    this.#syncing ??= this.#nextSync.catch(() => {})
    return this.#nextSync
  }

  async #sync(): Promise<void> {
    const files = [...this.#unsynced]
    this.#unsynced.clear()
    await Promise.all(files.map((file) => this.#options.files.sync(file)))
  }

  #writable(bytes: number): Open {
    const { maxBytes, segmentBytes, files, monotonic } = this.#options
    if (this.#open !== undefined && this.#open.bytes >= segmentBytes) this.#shut(this.#open)
    if (this.#open === undefined) this.start()
    if (this.bytes + bytes > maxBytes) throw new Error(SPOOL_FULL)
    if (this.#open !== undefined) return this.#open
    if (this.#lane === undefined) throw new TypeError('no lane was taken')
    const { id, folder } = this.#lane
    const number = this.#next
    const path = segmentPath(folder, number)
    const file = files.create(path)
    this.#open = { lane: id, number, path, file, since: monotonic(), bytes: 0 }
    this.#next = number + 1
    return this.#open
  }

  #shut({ lane, number, path, file, since, bytes }: Open): void {
    const { files, durability } = this.#options
    this.#open = undefined
    this.#waiting = [...this.#waiting, { lane, number, path, bytes, since }]
    this.#waitingBytes += bytes
    const close = () => files.close(file)
    if (durability === 'normal') close()
    else void this.synced().then(close, close)
  }
}

const DISK_FULL = 'the disk is full'
const SPOOL_FULL = 'the spool is full: the ledger has not taken what waits there'
