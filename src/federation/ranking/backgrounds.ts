import { LRUCache } from 'lru-cache'
import { messageOf } from '../../protocol/errors.js'
import type { Clock } from '../../protocol/time.js'
import { Background, type Frequencies } from './background.js'
import type { Terms } from './terms.js'

/** Where backgrounds outlive a restart; see state/backgrounds.ts. */
export interface BackgroundKeeper {
  read(owner: string): Uint8Array | undefined
  write(owner: string, background: Uint8Array, at: number): void
}

interface Asked {
  readonly snapshot: Frequencies
  /** Ms of the monotonic clock. */
  readonly at: number
}

interface Held {
  readonly background: Background
  snapshot: Frequencies
  renewedAt: number
}

/** Owners whose background is in memory at once: three to four megabytes each at the most. */
const HELD_OWNERS = 64
/** Questions that keep their snapshot, and the characters that they may have together. */
const HELD_QUESTIONS = 4096
const HELD_CHARACTERS = 1 << 22
/** Ms after which a snapshot that has fallen behind is renewed. */
const RENEWAL = 60_000
/** A snapshot is renewed early each time the texts have doubled, so that a young memory learns quickly. */
const GROWTH = 2

/** The backgrounds of all owners: learnt from what passes through, read as snapshots, kept on disk on a schedule. */
export class Backgrounds {
  readonly #keeper: BackgroundKeeper
  readonly #clock: Clock
  readonly #unkept: (problem: string) => void
  readonly #held: LRUCache<string, Held>
  readonly #asked = new LRUCache<string, Asked>({
    max: HELD_QUESTIONS,
    maxSize: HELD_CHARACTERS,
    sizeCalculation: (_, key) => key.length,
  })

  /** `unkept` hears why something learnt could not be written out. */
  constructor(keeper: BackgroundKeeper, clock: Clock, unkept: (problem: string) => void) {
    this.#keeper = keeper
    this.#clock = clock
    this.#unkept = unkept
    this.#held = new LRUCache<string, Held>({
      max: HELD_OWNERS,
      dispose: (held, owner) => this.#keep(owner, held),
    })
  }

  learn(owner: string, terms: Terms): void {
    this.#of(owner).background.learn(terms)
  }

  /** One question keeps its snapshot until the next renewal is due, so that equal calls order equally. */
  snapshotFor(owner: string, question: string): Frequencies {
    const key = `${owner.length}\0${owner}${question}`
    const now = this.#clock.monotonic()
    const asked = this.#asked.get(key)
    if (asked !== undefined && now - asked.at < RENEWAL) return asked.snapshot
    const snapshot = this.#snapshot(owner)
    this.#asked.set(key, { snapshot, at: now })
    return snapshot
  }

  #snapshot(owner: string): Frequencies {
    const held = this.#of(owner)
    const { background, snapshot } = held
    const grown = background.texts >= Math.max(1, snapshot.texts) * GROWTH
    const stale = this.#clock.monotonic() - held.renewedAt >= RENEWAL
    if (grown || (stale && background.texts !== snapshot.texts)) this.#renew(owner, held)
    return held.snapshot
  }

  /** Writes out what has been learnt and not been written yet. */
  close(): void {
    for (const [owner, held] of this.#held.entries()) this.#keep(owner, held)
  }

  #of(owner: string): Held {
    const held = this.#held.get(owner)
    if (held !== undefined) return held
    const stored = this.#keeper.read(owner)
    const background = stored === undefined ? new Background() : Background.read(stored)
    const fresh = {
      background,
      snapshot: background.snapshot(),
      renewedAt: this.#clock.monotonic(),
    }
    this.#held.set(owner, fresh)
    return fresh
  }

  #renew(owner: string, held: Held): void {
    held.snapshot = held.background.snapshot()
    held.renewedAt = this.#clock.monotonic()
    this.#keep(owner, held)
  }

  /** What cannot be kept is learnt again; no answer fails for it. */
  #keep(owner: string, { background }: Held): void {
    if (!background.changed) return
    try {
      this.#keeper.write(owner, background.write(), this.#clock.now())
    } catch (thrown) {
      this.#unkept(messageOf(thrown))
    }
  }
}
