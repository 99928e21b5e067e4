import { type Reply, readReply } from '../protocol/rpc.js'
import type { Clock } from '../protocol/time.js'
import { Attempt } from './attempt.js'
import type { TransportEvents } from './events.js'
import type { Outgoing, Response } from './wire.js'

/** One message on its way out. Whoever carries it leaves it out once it is `unwanted`, and calls `markSent` before it may go. */
export interface Parcel {
  readonly text: string
  readonly unwanted: boolean
  markSent(): void
}

/** A request that has been handed in: what to carry, and the answer to come. */
export interface Opened {
  readonly parcel: Parcel
  readonly answer: Promise<Response>
}

/** Matches answers to requests by id on a line that many share. Each request ends by its own deadline or cancellation. */
export class Correlator {
  readonly #clock: Clock
  readonly #events: TransportEvents
  readonly #open = new Map<number, Attempt<Response>>()
  #idle: (() => void) | undefined

  constructor(clock: Clock, events: TransportEvents) {
    this.#clock = clock
    this.#events = events
  }

  open(message: Outgoing): Opened {
    const attempt = new Attempt<Response>(message, this.#clock)
    this.#open.set(message.id, attempt)
    attempt.onEnd(() => this.#leave(message.id))
    return { parcel: new Letter(message.text, attempt), answer: attempt.promise }
  }

  /** Takes one text from the server. What answers nothing is reported and passed over. */
  receive(text: string): void {
    const reply = read(text)
    if (reply === undefined) this.#events.onNoise?.('not_a_message')
    else if ('notification' in reply) {
      this.#events.onNotification?.(reply.notification, reply.params)
    } else this.#answer(reply)
  }

  /** Ends every request under way: those that were sent with a cut, the others as not sent. */
  failAll(reason: string): void {
    for (const attempt of [...this.#open.values()]) {
      attempt.fail(attempt.sent ? 'cut' : 'unreachable', reason)
    }
  }

  /** Resolves when no request is under way. */
  async idle(): Promise<void> {
    if (this.#open.size === 0) return
    await new Promise<void>((resolve) => {
      this.#idle = resolve
    })
  }

  #answer(response: Response): void {
    const attempt = response.id === null ? undefined : this.#open.get(response.id)
    if (attempt === undefined) this.#events.onNoise?.('unmatched')
    else attempt.succeed(response)
  }

  #leave(id: number): void {
    this.#open.delete(id)
    if (this.#open.size === 0) this.#idle?.()
  }
}

class Letter implements Parcel {
  readonly text: string
  readonly #attempt: Attempt<Response>

  constructor(text: string, attempt: Attempt<Response>) {
    this.text = text
    this.#attempt = attempt
  }

  get unwanted(): boolean {
    return this.#attempt.settled
  }

  markSent(): void {
    this.#attempt.markSent()
  }
}

/** Whatever a server has sent, and whatever reading it comes to, must not end the process. */
function read(text: string): Reply | undefined {
  try {
    return readReply(text)
  } catch {
    return undefined
  }
}
