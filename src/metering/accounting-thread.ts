import { Worker } from 'node:worker_threads'
import type { Accounting, AccountingOptions } from './accounting.js'
import type { AccountingCall, AccountingWord } from './accounting-worker.js'
import type { SinkNews } from './sink.js'

/** The longest that the thread may take to close, in ms; sinks go on where they were at the next start. */
const GRACE_MS = 5000

type Settle = Readonly<Record<'resolve' | 'reject', (value: unknown) => void>>

/**
 * Accounting in a thread of its own, so that no caller waits for a database. It is started at the first use, and anew where it has
 * ended; what was under way then is an error.
 */
export class AccountingThread implements Accounting {
  readonly #options: AccountingOptions
  readonly #news: (news: SinkNews) => void
  readonly #waiting = new Map<number, Settle>()
  #worker: Worker | undefined
  #lastId = 0

  constructor(options: AccountingOptions, news: (news: SinkNews) => void) {
    this.#options = options
    this.#news = news
  }

  take(...args: Parameters<Accounting['take']>): ReturnType<Accounting['take']> {
    return this.#call('take', args)
  }

  deliver(...args: Parameters<Accounting['deliver']>): ReturnType<Accounting['deliver']> {
    return this.#call('deliver', args)
  }

  usage(...args: Parameters<Accounting['usage']>): ReturnType<Accounting['usage']> {
    return this.#call('usage', args)
  }

  count(...args: Parameters<Accounting['count']>): ReturnType<Accounting['count']> {
    return this.#call('count', args)
  }

  stock(...args: Parameters<Accounting['stock']>): ReturnType<Accounting['stock']> {
    return this.#call('stock', args)
  }

  owners(...args: Parameters<Accounting['owners']>): ReturnType<Accounting['owners']> {
    return this.#call('owners', args)
  }

  async close(): Promise<void> {
    const worker = this.#worker
    if (worker === undefined) return
    const late = setTimeout(() => void worker.terminate(), GRACE_MS)
    try {
      await this.#call('close', [])
    } catch {
      // It has ended without being asked to, or too late.
    } finally {
      clearTimeout(late)
      await worker.terminate()
    }
  }

  #call<N extends keyof Accounting>(
    name: N,
    args: Parameters<Accounting[N]>,
  ): ReturnType<Accounting[N]> {
    this.#worker ??= this.#start()
    const id = ++this.#lastId
    this.#worker.postMessage({ id, name, args } as AccountingCall)
    const answer = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }))
    return answer as ReturnType<Accounting[N]>
  }

  #start(): Worker {
    const worker = startWorker(this.#options)
    worker.on('message', (word: AccountingWord) => this.#heard(word))
    worker.on('error', (error) => this.#over(worker, error.message))
    worker.on('exit', () => this.#over(worker, 'the thread of the ledger ended'))
    return worker
  }

  #heard(word: AccountingWord): void {
    if (word.kind === 'news') {
      this.#news(word.news)
      return
    }
    const waiting = this.#waiting.get(word.id)
    this.#waiting.delete(word.id)
    if (word.kind === 'result') waiting?.resolve(word.value)
    else waiting?.reject(new Error(word.reason))
  }

  #over(worker: Worker, reason: string): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    for (const { reject } of this.#waiting.values()) reject(new Error(reason))
    this.#waiting.clear()
  }
}

/** Found from the folder of this file's source and from that of built parts alike; a thread has to be told to read a source. */
function startWorker(workerData: AccountingOptions): Worker {
  const settings = { workerData, env: {}, execArgv: [] }
  if (!import.meta.url.endsWith('.ts')) {
    return new Worker(new URL('../metering/accounting-worker.js', import.meta.url), settings)
  }
  const { href } = new URL('./accounting-worker.ts', import.meta.url)
  const load = `import('tsx/esm/api').then(({ register }) => (register(), import('${href}')))`
  return new Worker(load, { ...settings, eval: true })
}
