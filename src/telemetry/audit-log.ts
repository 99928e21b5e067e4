import { messageOf } from '../protocol/errors.js'
import { type Clock, formatInstant } from '../protocol/time.js'
import type { AuditMetrics } from './audit-metrics.js'
import type { Log } from './logs.js'

/** What a line of the audit log says, beside when. Undefined fields are left out. */
export type AuditEntry = Readonly<Record<string, unknown>>

/** Where lines of the audit log go. */
export interface Audit {
  /** Takes a line at once, and writes it in its turn. Never throws. */
  write(entry: AuditEntry): void
  /** Lines cannot be written at the moment. */
  readonly failing: boolean
}

/** An audit log that somebody has to close. */
export interface OwnedAudit extends Audit {
  /** Resolves when all lines are written, or cannot be. */
  close(): Promise<void>
}

/** Takes lines, each with its line break; see `RotatingFile`. */
export interface LineFile {
  append(lines: readonly string[]): Promise<number>
  close(): Promise<void>
}

export interface AuditLogOptions {
  readonly file: LineFile
  readonly log: Log
  readonly clock: Clock
  readonly metrics: AuditMetrics
  /** Runs something so many ms later. */
  readonly schedule: (run: () => void, delay: number) => void
}

/** Lines that come within this time are written together, in ms. */
const GATHER_MS = 10
/** How long a disk that took nothing is left alone, in ms. */
const RETRY_MS = 1000
/** The most that waits for a disk, in UTF-16 units; what comes on top is lost, and counted. */
const MOST_WAITING = 16 * 1024 * 1024

/** Writes lines off the path of calls, in the order in which they came. */
export class AuditLog implements OwnedAudit {
  readonly #options: AuditLogOptions
  readonly #waiting: string[] = []
  #size = 0
  #lost = 0
  #failing = false
  #closing = false
  #planned = false
  #turn: Promise<void> = Promise.resolve()

  constructor(options: AuditLogOptions) {
    this.#options = options
    options.metrics.failing(false)
  }

  get failing(): boolean {
    return this.#failing
  }

  write(entry: AuditEntry): void {
    const { clock, metrics } = this.#options
    const at = formatInstant(clock.now())
    const line = `{"at":"${at}",${JSON.stringify(entry).slice(1)}\n`
    if (this.#size + line.length > MOST_WAITING) {
      this.#lost++
      metrics.lost(1)
      return
    }
    this.#waiting.push(line)
    this.#size += line.length
    this.#plan(GATHER_MS)
  }

  async close(): Promise<void> {
    this.#closing = true
    this.#next()
    await this.#turn
    await this.#options.file.close()
  }

  #plan(delay: number): void {
    if (this.#planned || this.#closing) return
    this.#planned = true
    this.#options.schedule(() => {
      this.#planned = false
      this.#next()
    }, delay)
  }

  #next(): void {
    this.#turn = this.#turn.then(() => this.#writeAll())
  }

  async #writeAll(): Promise<void> {
    try {
      while (this.#waiting.length > 0) await this.#writeSome()
    } catch (thrown) {
      this.#failed(thrown)
    }
  }

  async #writeSome(): Promise<void> {
    const { file, metrics } = this.#options
    const count = await file.append([...this.#waiting])
    for (const line of this.#waiting.splice(0, count)) this.#size -= line.length
    metrics.written(count)
    if (this.#failing) this.#recovered()
  }

  #failed(thrown: unknown): void {
    const { log, metrics } = this.#options
    const reason = messageOf(thrown)
    const waiting = this.#waiting.length
    if (!this.#failing) log.error({ reason, waiting }, 'the audit log cannot be written')
    this.#failing = true
    metrics.failing(true)
    if (this.#closing) this.#giveUp()
    else this.#plan(RETRY_MS)
  }

  /** What was lost meanwhile is told in the log itself. */
  #recovered(): void {
    const { log, metrics } = this.#options
    const lost = this.#lost
    this.#lost = 0
    this.#failing = false
    metrics.failing(false)
    log.warn({ lost }, 'the audit log is written again')
    if (lost > 0) this.write({ outcome: 'lost', times: lost })
  }

  #giveUp(): void {
    const lost = this.#waiting.length
    this.#waiting.length = 0
    this.#options.metrics.lost(lost)
    this.#options.log.error({ lost }, 'lines of the audit log are lost')
  }
}
