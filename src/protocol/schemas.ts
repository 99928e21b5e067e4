import { z } from 'zod'
import { EXTENSION } from './extension.js'
import {
  extensionParamsSchema,
  extensionProfileSchema,
  extensionRecalledSchema,
} from './extension-schemas.js'
import type { Method } from './methods.js'
import { entrySchema, givenVectorSchema, recordSchema } from './records.js'
import type { FederationReport, UpstreamReport } from './reports.js'

const count = z.int().min(0)
const name = z.string().min(1)
const names = z.array(name)
const extension = { [EXTENSION]: extensionParamsSchema.optional() }
const whereSchema = z
  .custom<Readonly<Record<string, unknown>>>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'must be an object',
  )
  .refine(isExact, 'holds a number that cannot be compared exactly')

/** Beyond 2^53 different numerals are one double, and a forget by one of them would take its neighbours. */
function isExact(value: unknown): boolean {
  if (typeof value === 'number')
    return Number.isSafeInteger(value) || (!Number.isInteger(value) && Number.isFinite(value))
  return typeof value !== 'object' || value === null || Object.values(value).every(isExact)
}
const owner = name.optional()
/** Ours, for methods that the specification gives no owner: a caller that may act for all can say for whom. */
const whose = { owner, ...extension }
const promptSchema = z.union(
  [
    z.boolean(),
    z.object({
      method: z.string().optional(),
      style: z.string().optional(),
      model: z.string().optional(),
      budget: count.optional(),
      cite: z.boolean().optional(),
    }),
  ],
  'must be true, false or an object of options',
)

const reading = {
  tier: name.optional(),
  limit: count.optional(),
  owner,
  where: whereSchema.optional(),
  key_prefix: z.string().optional(),
  embeddings: z.boolean().optional(),
  prompt: promptSchema.optional(),
  /** Ours: `false` makes a gap in the answer an error. Stores ignore it. */
  partial: z.boolean().optional(),
  ...extension,
}
/** An empty selector of forget and summarize is an absent one. */
const selecting = {
  ids: names.optional(),
  query: z.string().optional(),
  tier: z.string().optional(),
  where: whereSchema.optional(),
  key_prefix: z.string().optional(),
  owner,
  ...extension,
}

const upstreamReportSchema: z.ZodType<UpstreamReport> = z.object({
  state: z.enum(['ok', 'failed', 'timeout', 'refused', 'skipped']),
  ms: z.number(),
  count: z.int(),
  code: z.int().optional(),
  reason: z.string().optional(),
  federation: z.lazy(() => federationReportSchema).optional(),
})
const federationReportSchema: z.ZodType<FederationReport> = z.object({
  partial: z.boolean(),
  upstreams: z.record(z.string(), upstreamReportSchema),
})

export const explanationSchema = z.array(
  z.object({
    list: z.string(),
    rank: z.int(),
    weight: z.number(),
    share: z.number(),
  }),
)

export const recalledSchema = recordSchema.extend({ explain: explanationSchema.optional() })

const reported = { federation: federationReportSchema.optional() }
const reorganised = {
  moved: count,
  promoted: count,
  dropped: count,
  summarized: count,
  counts: z.record(z.string(), count),
}

export const tierSchema = z.object({
  name,
  count,
  kind: z.string().optional(),
  capacity: count.optional(),
  spill_to: z.string().nullable().optional(),
  promote_to: z.string().nullable().optional(),
  promote_after: z.number().nullable().optional(),
  half_life: z.number().nullable().optional(),
  shared: z.boolean().optional(),
  per_session: z.boolean().optional(),
  /** Ours: `count` is the last one known, since the tier's upstream did not answer. */
  stale: z.boolean().optional(),
})

export const limitsSchema = z.object({
  max_records_per_call: z.int().min(1).optional(),
  max_recall_limit: z.int().min(1).optional(),
  max_content_length: z.int().min(1).optional(),
})

export const descriptionSchema = z.object({
  protocol: z.string(),
  name: z.string(),
  capabilities: z.array(z.string()),
  methods: z.array(z.string()),
  limits: limitsSchema.optional(),
  tiers: z.array(tierSchema).optional(),
  embeddings: z
    .object({
      dimensions: z.int().min(1).nullable(),
      metric: z.string(),
      metrics: z.array(z.string()).optional(),
      model: z.string().nullable().optional(),
    })
    .optional(),
  events: z.object({ push: z.boolean() }).optional(),
  summarize: z.object({ model: z.string().nullable() }).optional(),
  prompt: z
    .object({
      styles: z.array(z.string()),
      methods: z.array(z.string()),
      model: z.string().nullable().optional(),
    })
    .optional(),
  [EXTENSION]: extensionProfileSchema.optional(),
  /** Ours: which upstream takes which capability away, for callers that may see it. */
  federation: z
    .object({
      withheld: z.record(z.string(), z.array(z.string())),
      upstreams: z.record(z.string(), z.string()),
    })
    .optional(),
})

/** What goes in and comes out of every method; none can be left out, since the types of both come from here. */
export const SCHEMAS = {
  'memory/describe': {
    params: z.object({ protocol: z.string().optional(), owner, ...extension }),
    result: descriptionSchema,
  },
  'memory/remember': {
    params: z.object({
      records: z.array(entrySchema).min(1),
      owner,
      session: name.optional(),
      ...extension,
    }),
    result: z.object({ ids: names }),
  },
  'memory/recall': {
    params: z.object({
      ...reading,
      query: z.string().optional(),
      min_score: z.number().optional(),
      embedding: givenVectorSchema.optional(),
      /** Ours: adds to each record how it came to its place. Stores ignore it. */
      explain: z.boolean().optional(),
    }),
    result: z.object({
      records: z.array(recalledSchema),
      prompt: z.string().optional(),
      prompt_ids: names.optional(),
      ...reported,
      [EXTENSION]: extensionRecalledSchema.optional(),
    }),
  },
  'memory/timeline': {
    params: z.object(reading),
    result: z.object({
      records: z.array(recordSchema),
      prompt: z.string().optional(),
      prompt_ids: names.optional(),
      ...reported,
    }),
  },
  'memory/forget': {
    params: z.object(selecting),
    result: z.object({ forgotten: count, ...reported }),
  },
  'memory/promote': {
    params: z.object({
      ids: names,
      tier: name,
      salience: z.number().optional(),
      ...whose,
    }),
    result: z.object({ promoted: count }),
  },
  'memory/consolidate': {
    params: z.object(whose),
    result: z.object(reorganised),
  },
  'memory/reinforce': {
    params: z.object({ ids: names, amount: z.number().optional(), ...whose }),
    result: z.object({ reinforced: count }),
  },
  'memory/fetch': {
    params: z.object({ key: name, owner, embeddings: z.boolean().optional(), ...extension }),
    result: z.object({ record: recordSchema.nullable() }),
  },
  'memory/session/list': {
    params: z.object({ owner, ...extension }),
    result: z.object({
      sessions: z.array(
        z.object({
          session: z.string(),
          records: count,
          tiers: z.record(z.string(), count).optional(),
          opened_at: z.string().optional(),
          touched_at: z.string().optional(),
        }),
      ),
      ...reported,
    }),
  },
  'memory/session/close': {
    params: z.object({ session: name, owner, ...extension }),
    result: z.object({ ...reorganised, closed: z.string(), flushed: count }),
  },
  'memory/events': {
    params: z.object({
      cursor: z.string().optional(),
      limit: count.optional(),
      kinds: names.optional(),
      owner,
      ...extension,
    }),
    result: z.object({
      events: z.array(z.looseObject({ kind: z.string(), at: z.string() })),
      cursor: z.string(),
      more: z.boolean().optional(),
      reset: z.boolean().optional(),
      ...reported,
    }),
  },
  'memory/events/subscribe': {
    params: z.object({ kinds: names.optional(), owner, ...extension }),
    result: z.object({ subscribed: z.literal(true) }),
  },
  'memory/events/unsubscribe': {
    params: z.object(extension),
    result: z.object({ subscribed: z.literal(false) }),
  },
  'memory/summarize': {
    params: z.object({
      ...selecting,
      limit: count.optional(),
      into: name.optional(),
      key: name.optional(),
    }),
    result: z.object({ records: z.array(recordSchema), read: count, written: count }),
  },
} as const satisfies {
  readonly [M in Method]: { readonly params: z.ZodType; readonly result: z.ZodType }
}
