import { Worker } from 'node:worker_threads'
import type { Schedule } from './backoff.js'
import type { Parcel } from './correlator.js'
import type { Link, LinkReports } from './supervised.js'

export interface WorkerOptions {
  /** The module that the thread runs. */
  readonly entry: URL
  /** What the thread finds as its `workerData`; must survive a structured clone. */
  readonly workerData: unknown
  readonly schedule: Schedule
  /** Ms that the thread has to end after it was asked to; then it is ended. */
  readonly grace: number
}

/** What the thread says of its start. */
export type Start =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly message: string }

/**
 * Starts a thread that posts `{kind: 'ready'}` or `{kind: 'failed', message}` and then takes request texts and posts answer
 * texts, until it is posted `{kind: 'close'}`. `started` is told of the first message, or of an end without one.
 */
export function launchWorker(
  options: WorkerOptions,
  reports: LinkReports,
  started: (start: Start) => void,
): Link {
  return new Thread(options, reports, started)
}

class Thread implements Link {
  readonly #worker: Worker
  readonly #options: WorkerOptions
  readonly #over: Promise<void>
  readonly #started: (start: Start) => void
  /** What came before the thread was ready. */
  #waiting: Parcel[] = []
  #ready = false
  #reason = 'the store ended'

  constructor(options: WorkerOptions, reports: LinkReports, started: (start: Start) => void) {
    this.#options = options
    this.#started = started
    const { entry, workerData } = options
    this.#worker = new Worker(entry, { workerData, env: {}, execArgv: execArgvFor(entry) })
    this.#worker.on('message', (message: unknown) => {
      if (typeof message === 'string') reports.received(message)
      else this.#heard(message)
    })
    this.#worker.on('error', (error) => this.#fail(`the store failed: ${error.message}`))
    this.#over = new Promise((resolve) => {
      this.#worker.on('exit', () => {
        this.#started({ kind: 'failed', message: this.#reason })
        reports.ended(this.#reason)
        resolve()
      })
    })
  }

  carry(parcel: Parcel): void {
    if (!this.#ready) {
      this.#waiting.push(parcel)
      return
    }
    parcel.markSent()
    this.#worker.postMessage(parcel.text)
  }

  async end(): Promise<void> {
    const { schedule, grace } = this.#options
    this.#worker.postMessage({ kind: 'close' })
    const undo = schedule(() => void this.#worker.terminate(), grace)
    await this.#over
    undo()
  }

  #heard(message: unknown): void {
    if (!isStart(message)) return
    this.#started(message)
    if (message.kind === 'failed') {
      this.#fail(message.message)
      return
    }
    this.#ready = true
    const waiting = this.#waiting.filter((parcel) => !parcel.unwanted)
    this.#waiting = []
    for (const parcel of waiting) this.carry(parcel)
  }

  #fail(reason: string): void {
    this.#reason = reason
    void this.#worker.terminate()
  }
}

function isStart(message: unknown): message is Start {
  if (typeof message !== 'object' || message === null || !('kind' in message)) return false
  return (
    message.kind === 'ready' ||
    (message.kind === 'failed' && 'message' in message && typeof message.message === 'string')
  )
}

/** From sources, a thread needs the loader that its parent runs by. */
function execArgvFor(entry: URL): string[] {
  return entry.pathname.endsWith('.ts') ? ['--import', 'tsx'] : []
}
