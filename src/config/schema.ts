import { isIP } from 'node:net'
import { z } from 'zod'
import { auditSchema } from './audit.js'
import { auth, tls } from './auth.js'
import { LOG_LEVELS } from './config.js'
import { quotas } from './quotas.js'
import { roleSchema } from './roles.js'
import { signing } from './signing.js'
import { usage } from './usage.js'
import {
  duration,
  expected,
  httpUrl,
  isHttpUrl,
  lifetime,
  named,
  oneOf,
  size,
  strict,
  text,
  whole,
} from './values.js'
import { versions } from './versions.js'

const port = whole(0, 65_535)
const host = text.refine(isHost, 'must be a host name or an address, without scheme or port')
const mib = 1024 * 1024

function isHost(written: string): boolean {
  return isIP(written) !== 0 || /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(written)
}

const origin = text.refine(
  (written) => isHttpUrl(written) && new URL(written).origin === written,
  'must be an origin such as https://app.example: scheme, host and port, in lower case, without a path',
)

const model = strict({
  url: httpUrl,
  model: text,
  auth: strict({ bearer: text }).optional(),
  timeout: duration.default(20_000),
})

const owner = oneOf(['parameter', 'token', 'metadata', 'none'])

const upstream = strict({
  url: httpUrl.optional(),
  auth: strict({ bearer: text }).optional(),
  connections: whole(1, 1024).optional(),
  command: z.array(text, 'must be a list: the program, then its arguments').min(1).optional(),
  env: z.record(z.string(), z.string(expected('must be text; put it in quotes'))).optional(),
  cwd: text.optional(),
  store: oneOf(['sqlite']).optional(),
  path: text.optional(),
  metric: oneOf(['cosine', 'dot', 'l2']).optional(),
  owner: owner.optional(),
  audience: text.optional(),
  access: oneOf(['read-only', 'read-write']).optional(),
  ids: oneOf(['own', 'foreign']).optional(),
  timeout: duration.default(2000),
  concurrency: whole(1, 10_000).default(64),
  retries: whole(0, 5).default(1),
  breaker: strict({
    failures: whole(1, 1000).default(5),
    reset: duration.default(5000),
  }).prefault({}),
  max_reply_bytes: size.default(16 * mib),
  refresh: duration.default(60_000),
})

const tier = strict({
  kind: oneOf(['working', 'episodic', 'semantic', 'procedural']).optional(),
  upstream: text,
  upstream_tier: text.optional(),
  also: z.array(text, 'must be a list of upstreams').default([]),
  capacity: whole(0, 1_000_000_000).default(0),
  spill_to: text.optional(),
  promote_to: text.optional(),
  overflow: oneOf(['keep', 'drop']).default('keep'),
  per_session: z.boolean('must be true or false').default(false),
  promote_after: whole(1, 1_000_000_000).optional(),
  half_life: lifetime.optional(),
})

const weight = z
  .number('must be a number from 0 to 100')
  .min(0, 'must be a number from 0 to 100')
  .max(100, 'must be a number from 0 to 100')

const recall = strict({
  limit: whole(1, 10_000).default(8),
  window: whole(1, 10_000).default(20),
  k: whole(1, 10_000).default(60),
  voters: strict({
    lexical: weight.default(1),
    vector: weight.default(1),
  }).prefault({}),
  on_failure: oneOf(['partial', 'fail']).default('partial'),
})

const events = strict({
  keep: whole(1, 10_000_000).default(10_000),
  max_age: lifetime.default(7 * 86_400_000),
  tail: z.boolean('must be true or false').default(false),
  tail_interval: duration.default(5000),
})

const limits = strict({
  body_bytes: size.default(4 * mib),
  receive_timeout: duration.default(10_000),
  request_timeout: duration.default(30_000),
  shutdown_timeout: duration.default(10_000),
})

/** What one federation is made of, at the top of the file and under each name of `federations`. */
const federation = {
  upstreams: named(upstream).optional(),
  tiers: named(tier).optional(),
  recall: recall.prefault({}),
  events: events.prefault({}),
}
export const federationSchema = strict(federation)

/** The file as it is written, with the defaults of single values; what one value demands of another is in `rules.ts`. */
export const fileSchema = strict({
  name: text.default('a2m-gateway'),
  listen: strict({
    host: host.default('127.0.0.1'),
    port: port.default(8787),
    path: z
      .string()
      .regex(/^\/[\w./~-]*$/, 'must be a path such as / or /a2m')
      .default('/'),
    tls: tls.optional(),
  }).prefault({}),
  admin: z
    .preprocess(
      (value) => (value === false || value === 'off' ? { off: true } : value),
      strict({
        off: z.literal(true).optional(),
        host: host.default('127.0.0.1'),
        port: port.default(8788),
      }),
    )
    .prefault({}),
  data_dir: text.default('./data'),
  durability: oneOf(['normal', 'full']).default('normal'),
  allowed_origins: z.array(origin, 'must be a list of origins').default([]),
  auth: auth.optional(),
  limits: limits.prefault({}),
  quotas: quotas.optional(),
  models: strict({ prompt: model.optional(), summarize: model.optional() }).prefault({}),
  summarize: oneOf(['extractive', 'model', 'off']).optional(),
  log: strict({
    level: oneOf(LOG_LEVELS).default('info'),
    calls: z.boolean('must be true or false').default(true),
  }).prefault({}),
  ...federation,
  federations: named(federationSchema).default({}),
  versions,
  roles: named(roleSchema).optional(),
  audit: auditSchema.optional(),
  signing: signing.prefault({}),
  usage,
})

export type ConfigFile = z.output<typeof fileSchema>
export type FederationFile = z.output<typeof federationSchema>
export type ModelFile = z.output<typeof model>
export type UpstreamFile = z.output<typeof upstream>
export type TierFile = z.output<typeof tier>
