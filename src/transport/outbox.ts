import type { Writable } from 'node:stream'
import type { Parcel } from './correlator.js'

/** Writes messages to a pipe as long as it has room, and holds the others; one given up while it was held is never written. */
export class Outbox {
  readonly #pipe: Writable
  #held: Parcel[] = []
  #state: 'open' | 'full' | 'closed' = 'open'

  constructor(pipe: Writable) {
    this.#pipe = pipe
    pipe.on('drain', () => this.#flush())
  }

  carry(parcel: Parcel): void {
    if (this.#state === 'open') this.#write(parcel)
    else if (this.#state === 'full') this.#held.push(parcel)
  }

  /** From here on nothing is written. */
  close(): void {
    this.#state = 'closed'
    this.#held = []
  }

  #write(parcel: Parcel): void {
    parcel.markSent()
    if (!this.#pipe.write(`${parcel.text}\n`)) this.#state = 'full'
  }

  #flush(): void {
    if (this.#state !== 'full') return
    this.#state = 'open'
    const held = this.#held.filter((parcel) => !parcel.unwanted)
    this.#held = []
    for (const parcel of held) this.carry(parcel)
  }
}
