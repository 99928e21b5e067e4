import type { QuotaRedisConfig } from '../config/quotas.js'
import type { StoreEvents } from '../metering/quota-store.js'
import type { Log } from '../telemetry/logs.js'
import type { QuotaMetrics } from '../telemetry/quota-metrics.js'

type Redis = Pick<QuotaRedisConfig, 'url' | 'onFailure'>

/** Logs and counts how the counts are kept: in Redis, or in a file where there is none. */
export function storeEvents(
  redis: Redis | undefined,
  log: Pick<Log, 'info' | 'warn'>,
  metrics: Pick<QuotaMetrics, 'alone' | 'store'>,
): StoreEvents {
  const where = redis === undefined ? {} : { redis: addressOf(redis) }
  const meanwhile =
    redis === undefined
      ? {}
      : { on_failure: redis.onFailure, meanwhile: MEANWHILE[redis.onFailure] }
  const lost =
    redis === undefined
      ? 'the counts of quotas are not kept'
      : 'Redis is away: the counts of quotas are not kept'
  return {
    alone: () => metrics.alone(),
    store(state, reason) {
      metrics.store(state)
      if (state === 'up') log.info(where, 'the counts of quotas are kept again')
      else log.warn({ ...where, reason, ...meanwhile }, lost)
    },
  }
}

const MEANWHILE: Readonly<Record<Redis['onFailure'], string>> = {
  open: 'every call is let through',
  closed: 'calls that count are refused',
  local: 'this gateway gives its share of what was left',
}

const REDIS_PORT = '6379'

/** Host and port alone: what else is in the URL may be secret. */
function addressOf({ url }: Redis): string {
  const { hostname, port } = new URL(url)
  return `${hostname === '' ? 'localhost' : hostname}:${port === '' ? REDIS_PORT : port}`
}
