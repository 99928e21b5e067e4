import type { Clock } from '../protocol/time.js'
import { answered } from './quota-answered.js'
import { CatchUp } from './quota-catch-up.js'
import type { Charge } from './quota-charges.js'
import { type Count, keyOf, lifeOf } from './quota-keys.js'
import { Mirror } from './quota-mirror.js'
import type { RemoteAnswer, RemoteCounts, RemoteTake } from './quota-redis.js'
import type { Decision, QuotaStore, Refused, StoreEvents } from './quota-store.js'

export interface SharedStoreOptions {
  readonly remote: RemoteCounts
  readonly prefix: string
  /** The longest that a call waits for the counts, in ms. */
  readonly timeout: number
  readonly onFailure: 'open' | 'closed' | 'local'
  /** Among how many gateways what was left of a limit divides while the counts are away. */
  readonly gateways: number
  readonly clock: Clock
  readonly newMark: () => string
  readonly events: StoreEvents
}

/**
 * Counts that several gateways share. While they cannot be reached no call waits for them: each is decided here, as
 * configured, and what it takes is added to the shared counts as soon as they are there again.
 */
export class SharedStore implements QuotaStore {
  readonly #options: SharedStoreOptions
  readonly #mirror: Mirror
  readonly #catchUp: CatchUp
  #state: 'up' | 'down' | 'closed' = 'up'

  constructor(options: SharedStoreOptions) {
    this.#options = options
    this.#mirror = new Mirror(options.gateways)
    this.#catchUp = new CatchUp({ ...options, mirror: this.#mirror, done: () => this.#return() })
  }

  /** Resolves when it is known whether the counts are there. */
  async open(): Promise<void> {
    if (!(await this.#catchUp.first())) this.lost('it did not answer at the start')
  }

  async reserve(charges: readonly Charge[]): Promise<Decision> {
    if (this.#state !== 'up') return this.#alone(charges)
    const { remote, timeout } = this.#options
    const asked = remote.reserve(charges.map((charge) => this.#takeOf(charge)))
    const answer = await answered(asked, timeout)
    if (answer.kind === 'given') return this.#decided(charges, answer.value)
    this.lost(answer.reason)
    this.#takeBackLate(asked, charges)
    return this.#alone(charges)
  }

  async claim(charge: Charge): Promise<boolean> {
    const counter = this.#mirror.of(charge)
    if (counter.told || this.#state !== 'up') return false
    counter.told = true
    const { remote, timeout, clock } = this.#options
    const life = lifeOf(charge.span, clock.now())
    const claimed = await answered(remote.claim(`${this.#keyOf(charge)}:told`, life), timeout)
    if (claimed.kind === 'given') return claimed.value
    counter.told = false
    this.lost(claimed.reason)
    return false
  }

  /** The counts cannot be reached; `reason` holds no secret. */
  lost(reason: string): void {
    if (this.#state !== 'up') return
    this.#state = 'down'
    this.#options.events.store('down', reason)
    this.#catchUp.begin()
  }

  close(): void {
    this.#state = 'closed'
    this.#catchUp.stop()
    this.#options.remote.close()
  }

  #return(): void {
    if (this.#state !== 'down') return
    this.#state = 'up'
    this.#options.events.store('up')
  }

  #takeOf(charge: Charge): RemoteTake {
    const { quota, amount, span } = charge
    const limit = quota.mode === 'enforce' ? quota.limit : undefined
    return {
      key: this.#keyOf(charge),
      amount,
      limit,
      life: lifeOf(span, this.#options.clock.now()),
    }
  }

  #keyOf(charge: Charge): string {
    return keyOf(this.#options.prefix, countOf(charge))
  }

  #decided(charges: readonly Charge[], { by, used }: RemoteAnswer): Decision {
    this.#mirror.heard(charges, used)
    return by === undefined ? this.#granted(charges, used) : { kind: 'refused', by, used }
  }

  #granted(charges: readonly Charge[], used: readonly number[]): Decision {
    return {
      kind: 'granted',
      used,
      settle: (amounts) =>
        this.#add(
          charges,
          charges.map(({ amount }, index) => (amounts[index] ?? amount) - amount),
        ),
    }
  }

  /** What an answer that nobody waited for any more has taken, since the call was decided without it. */
  #takeBackLate(asked: Promise<RemoteAnswer>, charges: readonly Charge[]): void {
    const takeBack = ({ by }: RemoteAnswer) => {
      if (by !== undefined) return
      this.#add(
        charges,
        charges.map(({ amount }) => -amount),
      )
    }
    asked.then(takeBack, () => {})
  }

  #add(charges: readonly Charge[], amounts: readonly number[]): void {
    if (this.#state !== 'up') {
      this.#mirror.add(charges, amounts)
      return
    }
    const takes = charges.flatMap((charge, index) => {
      const amount = amounts[index] ?? 0
      return amount === 0 ? [] : [{ key: this.#keyOf(charge), amount }]
    })
    if (takes.length === 0) return
    const settled = answered(this.#options.remote.settle(takes), this.#options.timeout)
    void settled.then((answer) => answer.kind === 'none' && this.lost(answer.reason))
  }

  #alone(charges: readonly Charge[]): Decision {
    const { onFailure, events } = this.#options
    events.alone()
    if (onFailure === 'closed') return { kind: 'undecided' }
    if (onFailure === 'open') return this.#taken(charges, (of) => this.#mirror.used(of))
    const by = this.#mirror.tooMuchForPart(charges)
    if (by !== undefined) return this.#refusedAlone(charges, by)
    return this.#taken(charges, (of) => this.#mirror.usedWithParts(of))
  }

  #refusedAlone(charges: readonly Charge[], by: number): Refused {
    const charge = charges[by]
    const share = charge && this.#mirror.shareOf(charge)
    return { kind: 'refused', by, used: this.#mirror.usedWithParts(charges), share }
  }

  #taken(charges: readonly Charge[], used: (of: readonly Charge[]) => readonly number[]): Decision {
    this.#mirror.add(
      charges,
      charges.map(({ amount }) => amount),
    )
    return this.#granted(charges, used(charges))
  }
}

function countOf({ quota, span, subject }: Charge): Count {
  return { id: quota.id, span, subject }
}
