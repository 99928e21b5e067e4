import { z } from 'zod'
import type { Method } from '../protocol/methods.js'
import { ConfigError, type Path } from './errors.js'
import { toMethods } from './method-names.js'
import { duration, httpUrl, lifetime, named, oneOf, strict, text, whole } from './values.js'

/** One limit on what callers may use. */
export interface QuotaConfig {
  readonly name: string
  /** `records` and `characters` are those written; `stock` is records that an owner has. */
  readonly of: 'calls' | 'records' | 'characters' | 'stock'
  /** Whom it is counted for: each caller, each owner, or all holders of a role together. */
  readonly per: 'caller' | 'owner' | 'role'
  /** Ms, begun at multiples of that since 1970 in UTC, or a calendar month; undefined for a stock. */
  readonly window: number | 'month' | undefined
  /** 0 lets nothing through. */
  readonly limit: number
  /** The share of the limit from which on callers are warned. */
  readonly soft: number | undefined
  readonly mode: 'enforce' | 'shadow'
  /** Whom and what it concerns; undefined is everybody and everything that is counted. */
  readonly callers: readonly string[] | undefined
  readonly roles: readonly string[] | undefined
  readonly owners: readonly string[] | undefined
  readonly methods: readonly Method[] | undefined
}

/** Where the counts of several gateways are kept together. Times in ms. */
export interface QuotaRedisConfig {
  readonly url: string
  /** Begins every key in it. */
  readonly prefix: string
  readonly timeout: number
  /** What happens to calls while it does not answer. */
  readonly onFailure: 'open' | 'closed' | 'local'
  /** How many gateways count in it; with `local`, each gives its part of what was left. */
  readonly gateways: number
}

/** Who is told when a soft limit is passed. */
export interface QuotaWebhookConfig {
  readonly url: string
  readonly bearer: string | undefined
  readonly timeout: number
  readonly retries: number
}

/** All limits, in the order of the file, and where they are counted: in `data_dir` where there is no `redis`. */
export interface QuotasConfig {
  readonly limits: readonly QuotaConfig[]
  readonly redis: QuotaRedisConfig | undefined
  readonly webhook: QuotaWebhookConfig | undefined
}

const WINDOWS = { minute: 60_000, hour: 3_600_000, day: 86_400_000, month: 'month' } as const
const BAD_WINDOW = 'must be minute, hour, day, month, or a time such as 10s, 12h or 7d'
const SHORTEST = 1000

const window = z
  .unknown()
  .transform((written): number | 'month' | undefined => {
    if (typeof written === 'string' && Object.hasOwn(WINDOWS, written)) {
      return WINDOWS[written as keyof typeof WINDOWS]
    }
    const read = lifetime.safeParse(written)
    return read.success && read.data >= SHORTEST ? read.data : undefined
  })
  .refine((read) => read !== undefined, BAD_WINDOW)

const soft = z
  .number('must be a share such as 0.8')
  .gt(0, 'must be more than 0')
  .max(1, 'must be at most 1, which is the limit itself')

function some<T extends z.ZodType>(of: T, what: string) {
  return z.array(of, `must be a list of ${what}`).min(1, 'must not be empty; leave it out for all')
}

const MOST = 10 ** 15 - 1

const limit = strict({
  of: oneOf(['calls', 'records', 'characters', 'stock']),
  per: oneOf(['caller', 'owner', 'role']),
  window: window.optional(),
  limit: whole(0, MOST),
  soft: soft.optional(),
  shadow: z.boolean('must be true or false').default(false),
  callers: some(text, 'callers').optional(),
  roles: some(text, 'roles').optional(),
  owners: some(text, 'owners').optional(),
  methods: some(text, 'methods').optional(),
})

const redisUrl = text
  .refine(
    (written) => URL.canParse(written) && /^rediss?:$/.test(new URL(written).protocol),
    'must be a redis:// or rediss:// URL',
  )
  .refine(isDecodable, 'has a % that begins no escape; write %25 for it')

function isDecodable(written: string): boolean {
  try {
    return decodeURIComponent(written) !== ''
  } catch {
    return false
  }
}

/** `quotas`. */
export const quotas = strict({
  limits: named(limit),
  redis: redisUrl.optional(),
  redis_prefix: text.default('a2m'),
  redis_timeout: duration.refine((ms) => ms <= 5000, 'must be at most 5s').default(50),
  on_failure: oneOf(['open', 'closed', 'local']).optional(),
  gateways: whole(1, 1000).optional(),
  webhook: strict({
    url: httpUrl,
    auth: strict({ bearer: text }).optional(),
    timeout: duration.default(5000),
    retries: whole(0, 10).default(3),
  }).optional(),
})

type QuotasFile = z.output<typeof quotas>
type LimitFile = z.output<typeof limit>

/** Throws a `ConfigError` where one value does not go with another. */
export function toQuotas(file: QuotasFile): QuotasConfig {
  refuseNoLimits(file)
  for (const [name, of] of Object.entries(file.limits)) checkLimit(of, ['quotas', 'limits', name])
  checkWebhook(file)
  const limits = Object.entries(file.limits).map(([name, of]) => toQuota(name, of))
  return { limits, redis: toRedis(file), webhook: file.webhook && toWebhook(file.webhook) }
}

function toQuota(name: string, { shadow, ...file }: LimitFile): QuotaConfig {
  const { of, per, limit, window, soft, callers, roles, owners } = file
  const methods = file.methods && toMethods(file.methods, ['quotas', 'limits', name, 'methods'])
  const selected = { callers, roles, owners, methods }
  return { name, of, per, limit, window, soft, mode: shadow ? 'shadow' : 'enforce', ...selected }
}

function toRedis(file: QuotasFile): QuotaRedisConfig | undefined {
  const { redis: url, on_failure: onFailure, gateways } = file
  if (url === undefined) {
    if (onFailure !== undefined) throw alone('on_failure')
    if (gateways !== undefined) throw alone('gateways')
    return undefined
  }
  if (onFailure === undefined) {
    throw new ConfigError(
      ['quotas', 'on_failure'],
      'is missing: what happens to calls while Redis is away, open, closed or local?',
    )
  }
  if (onFailure === 'local' && gateways === undefined) {
    throw new ConfigError(['quotas', 'gateways'], 'is missing: among how many do limits divide?')
  }
  const { redis_prefix: prefix, redis_timeout: timeout } = file
  return { url, prefix, timeout, onFailure, gateways: gateways ?? 1 }
}

function alone(key: string): ConfigError {
  return new ConfigError(['quotas', key], 'needs redis; without it a gateway counts by itself')
}

function toWebhook(file: NonNullable<QuotasFile['webhook']>): QuotaWebhookConfig {
  const { url, auth, timeout, retries } = file
  return { url, bearer: auth?.bearer, timeout, retries }
}

function refuseNoLimits({ limits }: QuotasFile): void {
  if (Object.keys(limits).length > 0) return
  throw new ConfigError(
    ['quotas', 'limits'],
    'limits nothing; write one, as { calls: { of: calls, per: caller, window: minute, limit: 600 } }, or leave quotas out',
  )
}

function checkWebhook({ webhook, limits }: QuotasFile): void {
  if (webhook === undefined) return
  if (Object.values(limits).some(({ soft }) => soft !== undefined)) return
  throw new ConfigError(['quotas', 'webhook'], 'has nothing to tell: no limit has a soft')
}

function checkLimit({ of, per, window, methods }: LimitFile, path: Path): void {
  if (of !== 'stock') {
    if (window === undefined)
      throw new ConfigError([...path, 'window'], `is missing. It ${BAD_WINDOW}`)
    return
  }
  if (per !== 'owner') throw new ConfigError([...path, 'per'], 'a stock is an owner’s; write owner')
  if (window !== undefined) {
    throw new ConfigError([...path, 'window'], 'a stock is what is there now, and has no window')
  }
  if (methods !== undefined) {
    throw new ConfigError(
      [...path, 'methods'],
      'a stock is for all that adds to it, memory/remember and memory/summarize; leave it out',
    )
  }
}
