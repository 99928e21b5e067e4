import type { Context } from '../protocol/memory.js'
import type { Method, ParamsOf, ResultOf } from '../protocol/methods.js'
import type { Owner } from '../protocol/scope.js'
import type { Served } from '../protocol/serve.js'
import type { Usage } from '../protocol/usage.js'
import { type Measure, measureParams, measureResult, usageOf } from './measure.js'
import { ownerOfCall } from './whose.js'

/** The names of all tiers that there are at the moment, the default one first. */
export type Tiers = () => readonly { readonly name: string }[]

/**
 * Tells the context of every call what it read and wrote. A call that failed has read and written nothing; of it the owner is
 * told, and which of the tiers that it named there are.
 */
export function withMetering(inner: Served, tiers: Tiers): Served {
  return {
    refusal: (method, context) => inner.refusal(method, context),
    recognised: (method, params, context) => inner.recognised(method, params, context),
    async call<M extends Method>(method: M, params: ParamsOf<M>, context: Context) {
      const incoming = measureParams(method, params)
      const owner = ownerOfCall(method, params, context.caller)
      let result: ResultOf<M>
      try {
        result = await inner.call(method, params, context)
      } catch (thrown) {
        context.used?.(unused(owner, incoming, tiers()))
        throw thrown
      }
      context.used?.(usageOf(owner, incoming, measureResult(method, result), tiers()[0]?.name))
      return result
    },
    close: () => inner.close(),
  }
}

/** Nobody has looked at the names of tiers in a call that failed: they might be any texts. */
function unused(owner: Owner, incoming: Measure, known: ReturnType<Tiers>): Usage {
  const tiers = known.flatMap(({ name }) => (incoming.tiers.includes(name) ? [name] : []))
  return {
    owner,
    tiers,
    recordsIn: 0,
    recordsOut: 0,
    charactersIn: 0,
    charactersOut: 0,
    vectorsIn: 0,
    vectorsOut: 0,
  }
}
