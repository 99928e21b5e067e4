import { Fault } from '../protocol/errors.js'
import { type RestartOptions, Restarts } from './backoff.js'
import { Correlator, type Parcel } from './correlator.js'
import type { TransportEvents } from './events.js'
import type { Outgoing, Response, Wire } from './wire.js'

/** One running server that texts go to and come from: a child process, a worker thread. */
export interface Link {
  /** Sends a message, or holds it until there is room. */
  carry(parcel: Parcel): void
  /** Asks the server to finish, makes it if need be, and resolves when nothing of it is left. */
  end(): Promise<void>
}

/** How a link reports. `ended` comes once, after the last text, when nothing of the server is left. */
export interface LinkReports {
  received(text: string): void
  ended(end: LinkEnd): void
}

/** Why a server ended: `reason` in words that any caller may read, `detail` for the operator where there is more to say. */
export interface LinkEnd {
  readonly reason: string
  readonly detail?: string
}

/** Starts a server. Failing to start is reported by `ended` like any other end, never thrown, and not before this returns. */
type Launch = (reports: LinkReports) => Link

export interface SupervisedOptions extends RestartOptions {
  readonly launch: Launch
  readonly events: TransportEvents
}

/** Keeps one server running, with waits that grow while it keeps failing. While there is none, requests fail at once. */
export class SupervisedWire implements Wire {
  readonly #options: SupervisedOptions
  readonly #restarts: Restarts
  readonly #correlator: Correlator
  #link: Link | undefined
  #down = 'the server has not been started'
  #closing = false

  constructor(options: SupervisedOptions) {
    this.#options = options
    this.#restarts = new Restarts(options)
    this.#correlator = new Correlator(options.clock, options.events)
    this.#start()
  }

  async send(message: Outgoing): Promise<Response> {
    if (this.#closing) throw new Fault('unavailable', 'this upstream is closed')
    if (this.#link === undefined) throw new Fault('unreachable', this.#down)
    const { parcel, answer } = this.#correlator.open(message)
    if (!parcel.unwanted) this.#link.carry(parcel)
    return answer
  }

  async close(): Promise<void> {
    this.#closing = true
    this.#restarts.stop()
    await this.#correlator.idle()
    await this.#link?.end()
  }

  #start(): void {
    this.#restarts.started()
    this.#link = this.#options.launch({
      received: (text) => this.#correlator.receive(text),
      ended: (end) => this.#ended(end),
    })
  }

  #ended({ reason, detail = reason }: LinkEnd): void {
    this.#link = undefined
    this.#down = reason
    this.#correlator.failAll(reason)
    if (this.#closing) return
    const { attempt, delay } = this.#restarts.ended(() => this.#start())
    this.#options.events.onRestart?.({ attempt, delay, reason: detail })
  }
}
