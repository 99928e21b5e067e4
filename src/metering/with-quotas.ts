import { copyWith } from '../protocol/copy.js'
import { Fault, toA2mError } from '../protocol/errors.js'
import type { Context } from '../protocol/memory.js'
import { type Method, type ParamsOf, type ResultOf, SPECS } from '../protocol/methods.js'
import type { Owner } from '../protocol/scope.js'
import type { Served } from '../protocol/serve.js'
import type { LimitStanding, Usage } from '../protocol/usage.js'
import type { Limiter } from './limiter.js'
import { withoutEntries } from './measure.js'
import type { Charge } from './quota-charges.js'
import { withRoom } from './quota-room.js'

export interface QuotaOptions {
  readonly limiter: Limiter
  /** Counts the records that an owner has, on behalf of a call. */
  readonly countStock: (owner: Owner, context: Context) => Promise<number>
}

/**
 * Lets a call through when it fits into every limit that concerns it. What it takes is reserved before, settled with what it
 * really used, and given back where it failed. A write that may have been done all the same keeps what it took.
 */
export function withQuotas(served: Served, { limiter, countStock }: QuotaOptions): Served {
  const inner = withRoom(served, limiter)
  return {
    refusal: (method, context) => inner.refusal(method, context),
    recognised: (method, params, context) => inner.recognised(method, params, context),
    async call<M extends Method>(method: M, params: ParamsOf<M>, context: Context) {
      const charges = limiter.chargesOf(method, params, context.caller)
      if (charges.length === 0) return inner.call(method, params, context)
      const admission = await limiter.admit(charges, ({ owner }) => countStock(owner, context))
      if (admission.kind === 'turned_away') {
        tell(context, admission.standings)
        throw admission.error
      }
      const { reservation } = admission
      const watched = charges.some(isByUsage)
        ? watch(context)
        : { context, usage: undefined, existed: NONE }
      let result: ResultOf<M>
      try {
        refuseAbandoned(context)
        result = await inner.call(method, params, watched.context)
      } catch (thrown) {
        const kept = mayBeDone(method, thrown)
        tell(
          context,
          reservation.settle(({ amount }) => (kept ? amount : 0)),
        )
        throw thrown
      }
      const written =
        watched.existed.size === 0
          ? charges
          : limiter.chargesOf(method, withoutEntries(params, watched.existed), context.caller)
      tell(
        context,
        reservation.settle((charge) => usedOf(charge, watched.usage, written)),
      )
      return result
    },
    close: () => inner.close(),
  }
}

function tell(context: Context, standings: readonly LimitStanding[]): void {
  for (const standing of standings) context.limited?.(standing)
}

/** Whoever left while the call waited for its turn is done nothing for. */
function refuseAbandoned({ cancellation }: Context): void {
  if (cancellation.cancelled) throw new Fault('cancelled', 'the caller has left', 'not_sent')
}

interface Watched {
  readonly context: Context
  readonly usage: Usage | undefined
  /** The places of entries that were not written. */
  readonly existed: ReadonlySet<number>
}

const NONE: ReadonlySet<number> = new Set()

/** A context that also remembers what the call is said to have used. */
function watch(context: Context): Watched {
  let usage: Usage | undefined
  const places = new Set<number>()
  const existed: Context['existed'] = (told) => {
    for (const place of told) places.add(place)
  }
  const used = (told: Usage) => {
    usage = told
    context.used?.(told)
  }
  return {
    context: copyWith(context, { used, existed }),
    existed: places,
    get usage() {
      return usage
    },
  }
}

/**
 * What a call took of one limit in the end. Where it was for several owners, usage does not tell them apart: what the entries that
 * were `written` are charged stands.
 */
function usedOf(charge: Charge, usage: Usage | undefined, written: readonly Charge[]): number {
  const { quota, subject, amount } = charge
  if (usage === undefined || !isByUsage(charge)) return amount
  if (usage.recordsIn === 0) return 0
  if (usage.owner === undefined) {
    const same = written.find((one) => one.quota === quota && one.subject === subject)
    return same?.amount ?? 0
  }
  return quota.of === 'characters' ? usage.charactersIn : usage.recordsIn
}

/** A call is one whatever it used. */
function isByUsage({ quota }: Pick<Charge, 'quota'>): boolean {
  return quota.of !== 'calls'
}

function mayBeDone(method: Method, thrown: unknown): boolean {
  return SPECS[method].kind === 'write' && toA2mError(thrown).data?.['outcome'] === 'unknown'
}
