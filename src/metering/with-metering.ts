import { copyWith } from '../protocol/copy.js'
import type { A2mError } from '../protocol/errors.js'
import type { Context } from '../protocol/memory.js'
import type { Method, ParamsOf, ResultOf } from '../protocol/methods.js'
import type { Owner } from '../protocol/scope.js'
import type { Served } from '../protocol/serve.js'
import type { Usage } from '../protocol/usage.js'
import {
  type Measure,
  measureParams,
  measureResult,
  measureWritten,
  usageOf,
  withoutEntries,
} from './measure.js'
import { ownerOfCall, ownerOfResult } from './whose.js'

export interface MeteringOptions {
  /** The names of all tiers that there are at the moment, the default one first. */
  readonly tiers: () => readonly { readonly name: string }[]
  /** Refuses every call while it says why; for a gateway that serves nobody whom it cannot count. */
  readonly refusal?: () => A2mError | undefined
  /** Told of every call that succeeded, without the entries that were not written, and whose records it was about. Must not throw. */
  readonly done?: <M extends Method>(method: M, params: ParamsOf<M>, owner: Owner) => void
}

/**
 * Tells the context of every call what it read and wrote. A call that failed has read and written nothing; of it the owner is
 * told, and which of the tiers that it named there are.
 */
export function withMetering(inner: Served, options: MeteringOptions): Served {
  const { tiers, refusal, done } = options
  return {
    refusal: (method, context) => refusal?.() ?? inner.refusal(method, context),
    recognised: (method, params, context) => inner.recognised(method, params, context),
    async call<M extends Method>(method: M, params: ParamsOf<M>, context: Context) {
      const incoming = measureParams(method, params)
      const owner = ownerOfCall(method, params, context.caller)
      const heard = listening(params, context)
      let result: ResultOf<M>
      try {
        result = await inner.call(method, params, heard.context)
      } catch (thrown) {
        context.used?.(unused(owner, incoming, tiers()))
        throw thrown
      }
      const whose = ownerOfResult(method, result, owner)
      const carriedOut = withoutEntries(params, heard.existed)
      const came =
        carriedOut === params ? incoming : measureCarriedOut(method, carriedOut, incoming)
      const written = measureWritten(method, came, result)
      context.used?.(usageOf(whose, written, measureResult(method, result), tiers()[0]?.name))
      done?.(method, carriedOut, whose)
      return result
    },
    close: () => inner.close(),
  }
}

interface Heard {
  readonly context: Context
  /** The places of entries that were not written. */
  readonly existed: ReadonlySet<number>
}

const NONE: ReadonlySet<number> = new Set()

/** Only an entry with the caller's id can be there already; where there is none, nobody need look. */
function listening<M extends Method>(params: ParamsOf<M>, context: Context): Heard {
  if (!('records' in params) || params.records.every(({ id }) => id === undefined)) {
    return { context, existed: NONE }
  }
  const places = new Set<number>()
  const existed: Context['existed'] = (told) => {
    for (const place of told) places.add(place)
    context.existed?.(told)
  }
  return { context: copyWith(context, { existed }), existed: places }
}

/** What of the params was written; their tiers were named all the same. */
function measureCarriedOut<M extends Method>(
  method: M,
  carriedOut: ParamsOf<M>,
  incoming: Measure,
): Measure {
  const { tiers, untiered } = incoming
  return copyWith(measureParams(method, carriedOut), { tiers, untiered })
}

/** Nobody has looked at the names of tiers in a call that failed: they might be any texts. */
function unused(
  owner: Owner,
  incoming: Measure,
  known: readonly { readonly name: string }[],
): Usage {
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
