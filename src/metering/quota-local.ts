import { messageOf } from '../protocol/errors.js'
import type { Clock } from '../protocol/time.js'
import type { Charge } from './quota-charges.js'
import { Counters } from './quota-counters.js'
import type { KeptCount, QuotaFile } from './quota-file.js'
import {
  type Granted,
  type QuotaStore,
  type Refused,
  type StoreEvents,
  tooMuch,
} from './quota-store.js'

interface Counter {
  used: number
  /** What the file says, which is never less than `used` once a call has been granted. */
  kept: number
  told: boolean
}

export interface LocalStoreOptions {
  /** Undefined: counts end with the process. */
  readonly file: QuotaFile | undefined
  readonly clock: Clock
  readonly events: StoreEvents
}

/** The part of a limit that the file is ahead of the count, so that it is written fifty times a window at most. */
const AHEAD = 1 / 50
/** How long the file is left alone after it could not be written, in ms. */
const REST_MS = 5000
/** How often what is over is taken out of the file, in ms. */
const TIDY_MS = 1000

/**
 * Counts of one gateway, in memory. The file is written before a count passes what it says, and then a little ahead: after a
 * kill the count is at most that much too high, and never too low. A quiet end leaves it exact.
 */
export class LocalStore implements QuotaStore {
  readonly #options: LocalStoreOptions
  readonly #counters = new Counters<Counter>(() => ({ used: 0, kept: 0, told: false }))
  readonly #tidying: NodeJS.Timeout | undefined
  #restUntil = Number.NEGATIVE_INFINITY
  #state: 'up' | 'down' = 'up'

  constructor(options: LocalStoreOptions) {
    this.#options = options
    const { file, clock } = options
    if (file === undefined) return
    for (const count of file.read(clock.now())) this.#restore(count)
    this.#tidying = setInterval(() => this.#tidy(file), TIDY_MS)
    this.#tidying.unref()
  }

  reserve(charges: readonly Charge[]): Granted | Refused {
    const counters = charges.map((charge) => this.#counters.of(charge))
    const used = counters.map((counter) => counter.used)
    const by = tooMuch(charges, used)
    if (by !== undefined) return { kind: 'refused', by, used }
    charges.forEach(({ amount }, index) => {
      used[index] = add(counters[index], amount)
    })
    this.#cover(charges, counters)
    const settle = (amounts: readonly number[]) => {
      charges.forEach(({ amount }, index) => {
        add(counters[index], (amounts[index] ?? amount) - amount)
      })
      this.#cover(charges, counters)
    }
    return { kind: 'granted', used, settle }
  }

  claim(charge: Charge): boolean {
    const counter = this.#counters.of(charge)
    if (counter.told) return false
    counter.told = true
    this.#write([toKept(charge, { ...counter, used: Math.max(counter.used, counter.kept) })])
    return true
  }

  close(): void {
    clearInterval(this.#tidying)
    const { file } = this.#options
    if (file === undefined) return
    this.#restUntil = Number.NEGATIVE_INFINITY
    this.#write(this.#inexact())
    file.close()
  }

  /** Sees to it that the file says no less than the counters do. */
  #cover(charges: readonly Charge[], counters: readonly Counter[]): void {
    let due: Due[] | undefined
    charges.forEach((charge, index) => {
      const counter = counters[index]
      if (counter === undefined || counter.used <= counter.kept) return
      due ??= []
      due.push({ charge, counter, used: counter.used + Math.floor(charge.quota.limit * AHEAD) })
    })
    if (due === undefined) return
    const counts = due.map(({ charge, counter, used }) => toKept(charge, { ...counter, used }))
    if (!this.#write(counts)) return
    for (const { counter, used } of due) counter.kept = used
  }

  /** A file that cannot be written holds up no call: the counts go on in memory. */
  #write(counts: readonly KeptCount[]): boolean {
    const { file, clock, events } = this.#options
    if (file === undefined || clock.monotonic() < this.#restUntil) return false
    try {
      file.keep(counts)
      if (this.#state === 'down') events.store('up')
      this.#state = 'up'
      return true
    } catch (thrown) {
      this.#restUntil = clock.monotonic() + REST_MS
      if (this.#state === 'up') events.store('down', messageOf(thrown))
      this.#state = 'down'
      return false
    }
  }

  #restore({ id, span, subject, used, told }: KeptCount): void {
    this.#counters.generation(id, span).counters.set(subject, { used, kept: used, told })
  }

  #inexact(): readonly KeptCount[] {
    const counts: KeptCount[] = []
    for (const [id, { span, counters }] of this.#counters.all()) {
      for (const [subject, { used, kept, told }] of counters) {
        if (used !== kept) counts.push({ id, span, subject, used, told })
      }
    }
    return counts
  }

  #tidy(file: QuotaFile): void {
    try {
      file.forget(this.#options.clock.now())
    } catch {
      return
    }
  }
}

/** What is used then. */
function add(counter: Counter | undefined, amount: number): number {
  if (counter === undefined) return 0
  counter.used = Math.max(0, counter.used + amount)
  return counter.used
}

/** A counter that the file would say too little of, and what it is to say. */
interface Due {
  readonly charge: Charge
  readonly counter: Counter
  readonly used: number
}

function toKept({ quota, span, subject }: Charge, { used, told }: Counter): KeptCount {
  return { id: quota.id, span, subject, used, told }
}
