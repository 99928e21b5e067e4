import { DEFAULT_FEDERATION } from '../config/versions.js'
import { qualified } from '../config/views.js'
import type { Pushing } from '../edge/with-push.js'
import { copyWith } from '../protocol/copy.js'
import type { Ask, Context } from '../protocol/memory.js'
import type { Usage } from '../protocol/usage.js'
import type { Log } from '../telemetry/logs.js'
import type { Metrics } from '../telemetry/metrics.js'

/**
 * Names of upstreams and tiers are unique in one federation only. What a federation beside the default one tells of them is
 * told as `FEDERATION/NAME`, so that no two become one in a metric, in a log or in the ledger; callers see the plain names.
 */
export function metricsOf(federation: string, metrics: Metrics): Metrics {
  if (federation === DEFAULT_FEDERATION) return metrics
  return {
    ...metrics,
    asked: (ask) => metrics.asked(askOf(federation, ask)),
    happened: (event, upstream, times) =>
      metrics.happened(event, qualified(federation, upstream), times),
  }
}

/** Every line of a federation beside the default one says whose it is. */
export function logOf(federation: string, log: Log): Log {
  if (federation === DEFAULT_FEDERATION) return log
  return {
    error: (fields, message) => log.error({ federation, ...fields }, message),
    warn: (fields, message) => log.warn({ federation, ...fields }, message),
    info: (fields, message) => log.info({ federation, ...fields }, message),
    debug: (fields, message) => log.debug({ federation, ...fields }, message),
  }
}

/** What the calls of one federation tell of themselves, in names that are unique. */
export function withNames(inner: Pushing, federation: string): Pushing {
  if (federation === DEFAULT_FEDERATION) return inner
  return {
    ...inner,
    call: (method, params, context) => inner.call(method, params, named(context, federation)),
  }
}

function named(context: Context, federation: string): Context {
  const { used } = context
  return copyWith(context, {
    observe: (ask: Ask) => context.observe(askOf(federation, ask)),
    ...(used === undefined ? {} : { used: (usage: Usage) => used(usageOf(federation, usage)) }),
  })
}

function askOf(federation: string, ask: Ask): Ask {
  return { ...ask, upstream: qualified(federation, ask.upstream) }
}

function usageOf(federation: string, usage: Usage): Usage {
  return { ...usage, tiers: usage.tiers.map((tier) => qualified(federation, tier)) }
}
