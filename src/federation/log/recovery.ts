import { messageOf } from '../../protocol/errors.js'
import type { Context } from '../../protocol/memory.js'
import type { OpenWrite } from '../../state/journal.js'
import { resumeMove } from '../moving/moves.js'
import { moveKeys } from '../moving/promote.js'
import type { Parts } from '../parts.js'
import { writeLock } from '../record-locks.js'
import { takeBack, undoLocks } from '../writing/take-back.js'
import { settleIntent } from './open-intents.js'

/** How often what could not be finished is tried again, in ms. */
const RETRY = 5_000

/** Finishes or undoes what was under way when the gateway stopped, and whatever an upstream's outage left open since. */
export class Recovery {
  readonly #parts: Parts
  readonly #context: () => Context
  readonly #told: (problem: string) => void
  readonly #since: number
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #stopped = false

  /** `told` hears why something stays open, once a try. */
  constructor(parts: Parts, context: () => Context, told: (problem: string) => void) {
    this.#parts = parts
    this.#context = context
    this.#told = told
    this.#since = parts.clock.now()
  }

  /** Tries everything that is open once, then again on a schedule. Never rejects. */
  async start(): Promise<void> {
    await this.#turn()
    if (!this.#stopped) this.#timer = setInterval(() => void this.#turn(), RETRY).unref()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearInterval(this.#timer)
    await this.#running
  }

  #turn(): Promise<void> {
    this.#running ??= this.#recover().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #recover(): Promise<void> {
    const { journal, locks, book, chronicle } = this.#parts
    for (const write of journal.openWrites()) {
      await this.#attempt(`write ${write.id}`, () => this.#undo(write))
    }
    for (const move of journal.openMoves()) {
      const context = this.#context()
      const resume = async () =>
        !isOpen(journal.openMoves(), move) || resumeMove(this.#parts, move, context)
      await this.#attempt(`move ${move.id}`, () => locks.run(moveKeys(move.owner), context, resume))
    }
    for (const open of book.open()) {
      if (chronicle.isOpen(open.id)) continue
      await this.#attempt(`what to tell of ${open.id}`, () =>
        settleIntent({ parts: this.#parts, open, context: this.#context(), since: this.#since }),
      )
    }
  }

  /** A write that is under way in this run is waited for, and has then ended. */
  #undo(write: OpenWrite): Promise<boolean> {
    const { journal, locks } = this.#parts
    const context = this.#context()
    return locks.run([writeLock(write.id)], context, async () => {
      if (!isOpen(journal.openWrites(), write)) return true
      const { whole } = await locks.run(undoLocks(write), context, () =>
        takeBack(this.#parts, write, context),
      )
      return whole
    })
  }

  async #attempt(what: string, task: () => Promise<boolean>): Promise<void> {
    try {
      if (!(await task())) this.#told(`${what} stays open: an upstream of it cannot be used yet`)
    } catch (thrown) {
      this.#told(`${what} stays open: ${messageOf(thrown)}`)
    }
  }
}

/** What was seen as open may have been under way only, and have ended by the time that its turn has come. */
function isOpen(
  open: readonly { readonly id: string }[],
  { id }: { readonly id: string },
): boolean {
  return open.some((other) => other.id === id)
}
