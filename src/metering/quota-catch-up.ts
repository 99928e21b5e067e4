import type { Clock } from '../protocol/time.js'
import { answered } from './quota-answered.js'
import { keyOf, lifeOf } from './quota-keys.js'
import type { Mirror, Owed } from './quota-mirror.js'
import type { RemoteCounts } from './quota-redis.js'

export interface CatchUpOptions {
  readonly remote: RemoteCounts
  readonly mirror: Mirror
  readonly prefix: string
  /** How long it may take to find out whether the counts are there, in ms. */
  readonly timeout: number
  readonly clock: Clock
  /** What tells this gateway's writing from others'. */
  readonly newMark: () => string
  /** Called in the same turn in which nothing is owed any more. */
  readonly done: () => void
}

/** How often it is tried whether the counts are there again, in ms. */
const PROBE_MS = 250
/** Counts that are brought up to date at once, and how long that may take, in ms. */
const BATCH = 200
const BATCH_MS = 2000

/** Waits for the shared counts to be there again, and tells them what was taken meanwhile. */
export class CatchUp {
  readonly #options: CatchUpOptions
  #timer: NodeJS.Timeout | undefined
  #running = false
  /** Stands in Redis for as long as it keeps what it was told. */
  #mark: string | undefined

  constructor(options: CatchUpOptions) {
    this.#options = options
  }

  begin(): void {
    if (this.#running) return
    this.#running = true
    this.#later()
  }

  stop(): void {
    this.#running = false
    clearTimeout(this.#timer)
  }

  /** Resolves to whether the counts are there. For a start, when nothing can be owed. */
  async first(): Promise<boolean> {
    this.#mark = await this.#read()
    return this.#mark !== undefined
  }

  #later(): void {
    this.#timer = setTimeout(() => void this.#try(), PROBE_MS)
    this.#timer.unref()
  }

  async #try(): Promise<void> {
    const mark = await this.#read()
    const kept = this.#mark === undefined || mark === this.#mark ? 'kept' : 'lost'
    const told = mark !== undefined && (await this.#tellAll(kept))
    if (!this.#running) return
    if (!told) {
      this.#later()
      return
    }
    this.#mark = mark
    this.#running = false
    this.#options.done()
  }

  async #read(): Promise<string | undefined> {
    const { remote, prefix, timeout, newMark } = this.#options
    const there = await answered(remote.mark(`{${prefix}}:quota:mark`, newMark()), timeout)
    return there.kind === 'given' ? there.value : undefined
  }

  /** Once everything was told, what was taken while that went on is told too, until there is none. */
  async #tellAll(counts: 'kept' | 'lost'): Promise<boolean> {
    const { mirror, clock } = this.#options
    let owed = [...mirror.owed(clock.now())]
    while (owed.length > 0) {
      for (let start = 0; start < owed.length; start += BATCH) {
        if (!(await this.#tell(owed.slice(start, start + BATCH), counts))) return false
      }
      owed = [...mirror.owed(clock.now())].filter(({ counter }) => counter.taken !== 0)
    }
    return true
  }

  /** Where the answer is lost it is told again, and then counted twice: too much rather than too little. */
  async #tell(owed: readonly Owed[], counts: 'kept' | 'lost'): Promise<boolean> {
    const { remote, prefix, clock } = this.#options
    const raises = owed.map(({ count, counter: { known, taken } }) => ({
      key: keyOf(prefix, count),
      known: Math.max(0, known),
      amount: taken,
      life: lifeOf(count.span, clock.now()),
    }))
    const answer = await answered(remote.raise(raises, counts), BATCH_MS)
    if (answer.kind === 'none') return false
    for (const [index, { counter }] of owed.entries()) {
      counter.taken -= raises[index]?.amount ?? 0
      counter.known = answer.value[index] ?? counter.known
    }
    return true
  }
}
