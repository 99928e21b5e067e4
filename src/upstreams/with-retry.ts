import { A2mError, Fault } from '../protocol/errors.js'
import type { Context, Memory } from '../protocol/memory.js'
import { type Method, type ParamsOf, type ResultOf, SPECS } from '../protocol/methods.js'
import type { Clock } from '../protocol/time.js'

export interface RetryOptions {
  /** How many times more, at most. */
  readonly retries: number
  readonly clock: Clock
}

/**
 * Repeats a call that got no answer where that cannot do anything twice: reads, what was never sent, and writes whose entries
 * all carry an id and no key (§3.2). An answer, a time-out and a busy queue are final; so is a deadline.
 */
export function withRetry(inner: Memory, { retries, clock }: RetryOptions): Memory {
  const attempt = async <M extends Method>(
    method: M,
    params: ParamsOf<M>,
    context: Context,
    left: number,
  ): Promise<ResultOf<M>> => {
    context.attempt?.()
    try {
      return await inner.call(method, params, context)
    } catch (thrown) {
      const again =
        left > 0 && !context.cancellation.cancelled && clock.monotonic() < context.deadline
      if (!again || !repeatable(method, params, thrown)) throw thrown
      return attempt(method, params, context, left - 1)
    }
  }
  return {
    call: (method, params, context) => attempt(method, params, context, retries),
    close: () => inner.close(),
  }
}

const TRANSIENT: ReadonlySet<string> = new Set(['unreachable', 'cut'])

function repeatable(method: Method, params: ParamsOf<Method>, thrown: unknown): boolean {
  if (thrown instanceof A2mError || !(thrown instanceof Fault) || !TRANSIENT.has(thrown.kind))
    return false
  if (thrown.outcome === 'not_sent' || SPECS[method].kind !== 'write') return true
  return method === 'memory/remember' && 'records' in params && params.records.every(named)
}

function named(entry: {
  readonly id?: string | undefined
  readonly key?: string | undefined
}): boolean {
  return entry.id !== undefined && entry.key === undefined
}
