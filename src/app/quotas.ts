import { join } from 'node:path'
import type { Registry } from 'prom-client'
import { type Config, QUOTA_FILE } from '../config/config.js'
import type { QuotaRedisConfig, QuotasConfig } from '../config/quotas.js'
import type { Federation } from '../federation/federation.js'
import { Limiter, type LimiterEvents } from '../metering/limiter.js'
import { createQuota } from '../metering/quota.js'
import { openQuotaFile, type QuotaFile } from '../metering/quota-file.js'
import { LocalStore } from '../metering/quota-local.js'
import { connectRedis } from '../metering/quota-redis.js'
import { SharedStore } from '../metering/quota-shared.js'
import { StockRoom } from '../metering/quota-stock.js'
import type { QuotaStore, StoreEvents } from '../metering/quota-store.js'
import { Webhook, warningOf } from '../metering/quota-webhook.js'
import { QuotaTime } from '../metering/quota-window.js'
import { scopeOf } from '../metering/whose.js'
import type { QuotaOptions } from '../metering/with-quotas.js'
import { copyWith } from '../protocol/copy.js'
import { createIds } from '../protocol/ids.js'
import type { Context } from '../protocol/memory.js'
import type { Owner } from '../protocol/scope.js'
import { createQuotaMetrics, type QuotaMetrics } from '../telemetry/quota-metrics.js'
import type { Closers } from './closers.js'
import type { AppDeps } from './deps.js'
import { makeFolder } from './folder.js'
import { storeEvents } from './quota-store-events.js'

/** What limits are opened with. */
export interface QuotaParts {
  readonly config: Config
  readonly deps: AppDeps
  readonly metricRegistry: Registry
  readonly closers: Closers
}

/** The longest that a start waits for Redis, in ms; it is then taken to be away. */
const CONNECT_MS = 1000
/** The time before a webhook is tried again, in ms. */
const BACKOFF_MS = 1000

/** One limiter for all federations of a gateway; none where nothing is limited. */
export async function openLimiter(parts: QuotaParts): Promise<Limiter | undefined> {
  const { config, deps, metricRegistry } = parts
  const wanted = config.quotas
  if (wanted === undefined || wanted.limits.length === 0 || deps.purpose === 'look')
    return undefined
  const { clock } = deps
  const metrics = createQuotaMetrics(metricRegistry, wanted)
  const { store, since } = await openStore(parts, wanted.redis, metrics)
  return new Limiter({
    quotas: wanted.limits.map(createQuota),
    store,
    stock: new StockRoom(clock),
    time: new QuotaTime(clock, since),
    events: limiterEvents(parts, wanted, metrics),
  })
}

/** What one of the federations of a gateway is wrapped with. An owner has what it has in all of them. */
export function limitsOf(
  federation: Federation,
  all: readonly Federation[],
  limiter: Limiter,
): QuotaOptions {
  return {
    limiter,
    async countStock(owner, context) {
      const untold = copyWith(context, { observe: () => {} })
      const counts = all.map((one) => countStock(one, owner, one === federation ? context : untold))
      return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
    },
  }
}

/** As describe tells it to somebody who may act for that owner alone. */
async function countStock(federation: Federation, owner: Owner, context: Context): Promise<number> {
  const caller = { name: 'quotas', roles: [], scope: scopeOf(owner) }
  const { tiers = [] } = await federation.call(
    'memory/describe',
    {},
    copyWith(context, { caller, used: undefined }),
  )
  return tiers.reduce((sum, { count }) => sum + count, 0)
}

interface Opened {
  readonly store: QuotaStore
  /** A time that is known to have been. */
  readonly since: number
}

async function openStore(
  parts: QuotaParts,
  redis: QuotaRedisConfig | undefined,
  metrics: QuotaMetrics,
): Promise<Opened> {
  const { config, deps, closers } = parts
  const events = storeEvents(redis, deps.log, metrics)
  if (redis !== undefined) return { store: await openShared(parts, redis, events), since: 0 }
  const file = await openFile(config)
  const store = new LocalStore({ file, clock: deps.clock, events })
  const since = file.since()
  closers.add(() => store.close())
  return { store, since }
}

async function openFile({ dataDir }: Config): Promise<QuotaFile> {
  await makeFolder(dataDir)
  return openQuotaFile(join(dataDir, QUOTA_FILE))
}

async function openShared(
  { deps, closers }: QuotaParts,
  config: QuotaRedisConfig,
  events: StoreEvents,
): Promise<QuotaStore> {
  const lost: { tell?: () => void } = {}
  const remote = await connectRedis({
    url: config.url,
    connectTimeout: CONNECT_MS,
    lost: () => lost.tell?.(),
  })
  const { clock, randomBytes } = deps
  const newMark = createIds(clock.now, randomBytes)
  const store = new SharedStore({ ...config, remote, clock, newMark, events })
  await store.open()
  lost.tell = () => store.lost('the connection is gone')
  closers.add(() => store.close())
  return store
}

function limiterEvents(
  parts: QuotaParts,
  { webhook: wanted }: QuotasConfig,
  metrics: QuotaMetrics,
): LimiterEvents {
  const { config, deps, closers } = parts
  const { clock, log, randomBytes } = deps
  const newId = createIds(clock.now, randomBytes)
  const outcome = metrics.webhook
  const webhook = wanted && new Webhook({ ...wanted, backoff: BACKOFF_MS, newId, outcome })
  if (webhook !== undefined) closers.add(() => webhook.close())
  const shadowLogged = new Map<string, number>()
  return {
    refused: ({ quota }) => metrics.refused(quota.name),
    shadowed({ quota, subject, span }, used) {
      metrics.shadowed(quota.name)
      if (shadowLogged.get(quota.name) === span.start) return
      shadowLogged.set(quota.name, span.start)
      const fields = { limit: quota.name, subject, max: quota.limit, used }
      log.warn(fields, 'a shadow limit is passed; it would refuse calls')
    },
    warned(charge, used) {
      metrics.warned(charge.quota.name)
      webhook?.tell(warningOf(charge, used, { source: config.name, now: clock.now() }))
    },
  }
}
