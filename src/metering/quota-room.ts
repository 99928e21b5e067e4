import type { Context } from '../protocol/memory.js'
import type { Method, ParamsOf } from '../protocol/methods.js'
import type { Served } from '../protocol/serve.js'
import type { Limiter } from './limiter.js'
import { ownerOfCall } from './whose.js'

/** Calls that may leave an owner with fewer records. */
const TAKING_AWAY: ReadonlySet<Method> = new Set([
  'memory/forget',
  'memory/consolidate',
  'memory/session/close',
])

/** Has what was made room by in a limited stock seen by the next write, and not only when the stock is counted again. */
export function withRoom(inner: Served, limiter: Limiter): Served {
  if (!limiter.hasStock) return inner
  return {
    refusal: (method, context) => inner.refusal(method, context),
    recognised: (method, params, context) => inner.recognised(method, params, context),
    async call<M extends Method>(method: M, params: ParamsOf<M>, context: Context) {
      const result = await inner.call(method, params, context)
      if (TAKING_AWAY.has(method)) limiter.takenAway(ownerOfCall(method, params, context.caller))
      return result
    },
    close: () => inner.close(),
  }
}
