import pLimit from 'p-limit'
import { Fault } from '../protocol/errors.js'
import type { Context, Memory } from '../protocol/memory.js'
import type { Clock } from '../protocol/time.js'

export interface LimitOptions {
  /** Calls in flight at once; more wait their turn, within their own deadline. */
  readonly concurrency: number
  readonly clock: Clock
}

/** How many may wait for each one that is in flight; beyond that the answer would come too late anyway. */
const WAITING_PER_CALL = 16

/** Bounds what one upstream is asked at once. A call whose turn comes too late is never sent (`busy`). */
export function withLimit(inner: Memory, { concurrency, clock }: LimitOptions): Memory {
  const limit = pLimit(concurrency)
  return {
    async call(method, params, context) {
      if (limit.activeCount < concurrency && limit.pendingCount === 0) {
        return limit(() => inner.call(method, params, context))
      }
      if (limit.pendingCount >= concurrency * WAITING_PER_CALL) throw busy()
      if (context.cancellation.cancelled) throw left()
      return wait(context, clock, (given) =>
        limit(() => {
          given.turn()
          if (given.up || clock.monotonic() >= context.deadline) throw busy()
          return inner.call(method, params, context)
        }),
      )
    },
    close: () => inner.close(),
  }
}

/** Beyond it a timer of Node fires at once. */
const LONGEST_TIMER = 2 ** 31 - 1

interface Waiting {
  up: boolean
  /** Told when the call's turn has come, after which the transport keeps the deadline. */
  turn(): void
}

function wait<T>(
  context: Context,
  clock: Clock,
  run: (waiting: Waiting) => Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const waiting: Waiting = { up: false, turn: () => {} }
    const giveUp = (fault: Fault) => {
      waiting.up = true
      waiting.turn()
      reject(fault)
    }
    const patience = Math.max(0, context.deadline - clock.monotonic())
    const timer = setTimeout(() => giveUp(busy()), Math.min(patience, LONGEST_TIMER))
    const unsubscribe = context.cancellation.subscribe(() => giveUp(left()))
    waiting.turn = () => {
      clearTimeout(timer)
      unsubscribe()
    }
    run(waiting).then(resolve, reject)
  })
}

function left(): Fault {
  return new Fault('cancelled', 'the caller left', 'not_sent')
}

function busy(): Fault {
  return new Fault('busy', 'too many calls were waiting for it')
}
