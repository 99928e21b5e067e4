import { Worker } from 'node:worker_threads'
import type { StoreOptions } from '../stores/options.js'
import type { WorkerNotice, WorkerOrder } from '../stores/worker.js'
import type { Schedule } from './backoff.js'
import type { Parcel } from './correlator.js'
import type { Link, LinkReports } from './supervised.js'

export interface WorkerOptions {
  /** The module that the thread runs; it speaks as `stores/worker.ts` does. */
  readonly entry: URL
  /** Handed to the thread as its `workerData`. */
  readonly workerData: StoreOptions
  readonly schedule: Schedule
  /** Ms that the thread has to end after it was asked to; then it is ended. */
  readonly grace: number
  /** Told of the first word of each thread, or of its end where that came first. */
  readonly onStart: (notice: WorkerNotice) => void
}

const CLOSE: WorkerOrder = { kind: 'close' }

/** Starts a thread with an empty environment that takes request texts and posts answer texts. */
export function launchWorker(options: WorkerOptions, reports: LinkReports): Link {
  return new Thread(options, reports)
}

class Thread implements Link {
  readonly #worker: Worker
  readonly #options: WorkerOptions
  readonly #over: Promise<void>
  /** What came before the thread was ready; undefined from then on. */
  #waiting: Parcel[] | undefined = []
  #detail = 'the thread of the store ended'

  constructor(options: WorkerOptions, reports: LinkReports) {
    this.#options = options
    this.#worker = startThread(options)
    this.#worker.on('message', (message: string | WorkerNotice) => {
      if (typeof message === 'string') reports.received(message)
      else this.#heard(message)
    })
    this.#worker.on('error', (error: Error) => {
      this.#detail = error.message
    })
    this.#over = new Promise((resolve) => {
      this.#worker.on('exit', () => {
        options.onStart({ kind: 'failed', message: this.#detail })
        reports.ended({ reason: 'the store is not running', detail: this.#detail })
        resolve()
      })
    })
  }

  carry(parcel: Parcel): void {
    if (this.#waiting) {
      this.#waiting.push(parcel)
      return
    }
    parcel.markSent()
    this.#worker.postMessage(parcel.text)
  }

  async end(): Promise<void> {
    const { schedule, grace } = this.#options
    this.#worker.postMessage(CLOSE)
    const undo = schedule(() => void this.#worker.terminate(), grace)
    await this.#over
    undo()
  }

  #heard(notice: WorkerNotice): void {
    this.#options.onStart(notice)
    if (notice.kind === 'failed') {
      this.#detail = notice.message
      void this.#worker.terminate()
      return
    }
    const waiting = this.#waiting?.filter((parcel) => !parcel.unwanted) ?? []
    this.#waiting = undefined
    for (const parcel of waiting) this.carry(parcel)
  }
}

/** Node does not load TypeScript in a thread: from sources, the thread registers the loader itself. */
function startThread({ entry, workerData }: WorkerOptions): Worker {
  const settings = { workerData, env: {}, execArgv: [] }
  if (!entry.pathname.endsWith('.ts')) return new Worker(entry, settings)
  const load = `import('tsx/esm/api').then(({ register }) => (register(), import('${entry.href}')))`
  return new Worker(load, { ...settings, eval: true })
}
