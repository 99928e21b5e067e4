import { z } from 'zod'
import { EXTENSION, extensionParamsSchema, extensionProfileSchema } from './extension.js'
import { entrySchema, recordSchema, vectorSchema } from './records.js'

/** The capabilities of A2M 0.1 (§2); `core` is every server's. */
export const CAPABILITIES = [
  'core',
  'tiers',
  'salience',
  'scopes',
  'sessions',
  'keys',
  'embeddings',
  'external',
  'events',
  'summarize',
  'prompt',
] as const
export type Capability = (typeof CAPABILITIES)[number]

/** `describe` reads the server itself, `read` its records, `write` changes them, `connection` only what the connection is told. */
export type Kind = 'describe' | 'read' | 'write' | 'connection'

const count = z.int().min(0)
const name = z.string().min(1)
const names = z.array(name)
const extension = { [EXTENSION]: extensionParamsSchema.optional() }
const whereSchema = z.custom<Readonly<Record<string, unknown>>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'must be an object',
)
const owner = name.optional()
const promptSchema = z.union([
  z.boolean(),
  z.object({
    method: z.string().optional(),
    style: z.string().optional(),
    model: z.string().optional(),
    budget: count.optional(),
    cite: z.boolean().optional(),
  }),
])

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

/** What happened at one upstream of a federation in one call. */
const upstreamReportSchema: z.ZodType<UpstreamReport> = z.object({
  state: z.enum(['ok', 'failed', 'timeout', 'refused', 'skipped']),
  ms: z.number(),
  count: z.int(),
  code: z.int().optional(),
  reason: z.string().optional(),
  federation: z.lazy(() => federationReportSchema).optional(),
})
export interface UpstreamReport {
  /** `refused` is an error that the upstream answered with (`code`), `skipped` one that was not asked (`reason`). */
  state: 'ok' | 'failed' | 'timeout' | 'refused' | 'skipped'
  /** Milliseconds from the ask to its end. */
  ms: number
  count: number
  code?: number | undefined
  reason?: string | undefined
  /** What a gateway behind this one reported of its own upstreams. */
  federation?: FederationReport | undefined
}
/** Beside the results of a federation: who answered, and whether anybody who was asked did not. */
export interface FederationReport {
  partial: boolean
  upstreams: Record<string, UpstreamReport>
}
const federationReportSchema: z.ZodType<FederationReport> = z.object({
  partial: z.boolean(),
  upstreams: z.record(z.string(), upstreamReportSchema),
})

const explanationSchema = z.array(
  z.object({
    list: z.string(),
    rank: z.int(),
    weight: z.number(),
    share: z.number(),
  }),
)
/** One vote for a recalled record: whose list, its rank from 1 there, the list's weight, and the part of `score` it gave. */
export type Explanation = z.output<typeof explanationSchema>

const recalledSchema = recordSchema.extend({ explain: explanationSchema.optional() })
/** A recalled record, with its votes where `explain` was asked for. */
export type RecalledRecord = z.output<typeof recalledSchema>

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
/** One tier as describe tells it (§4.7); `capacity` 0 is unbounded. */
export type Tier = z.output<typeof tierSchema>

export const limitsSchema = z.object({
  max_records_per_call: z.int().min(1).optional(),
  max_recall_limit: z.int().min(1).optional(),
  max_content_length: z.int().min(1).optional(),
})
/** Limits that a server enforces (§4.1); an absent one is no limit. Contents are measured in code points. */
export type Limits = z.output<typeof limitsSchema>

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

interface Spec {
  readonly capability: Capability
  readonly kind: Kind
  readonly params: z.ZodType
  readonly result: z.ZodType
}

/** Every method of A2M 0.1: the capability that brings it, what it does, and the shape of both directions. */
const METHODS = {
  'memory/describe': {
    capability: 'core',
    kind: 'describe',
    params: z.object({ protocol: z.string().optional(), owner, ...extension }),
    result: descriptionSchema,
  },
  'memory/remember': {
    capability: 'core',
    kind: 'write',
    params: z.object({
      records: z.array(entrySchema).min(1),
      owner,
      session: name.optional(),
      ...extension,
    }),
    result: z.object({ ids: names }),
  },
  'memory/recall': {
    capability: 'core',
    kind: 'read',
    params: z.object({
      ...reading,
      query: z.string().optional(),
      min_score: z.number().optional(),
      embedding: vectorSchema.optional(),
      /** Ours: adds to each record how it came to its place. Stores ignore it. */
      explain: z.boolean().optional(),
    }),
    result: z.object({
      records: z.array(recalledSchema),
      prompt: z.string().optional(),
      prompt_ids: names.optional(),
      ...reported,
    }),
  },
  'memory/timeline': {
    capability: 'core',
    kind: 'read',
    params: z.object(reading),
    result: z.object({
      records: z.array(recordSchema),
      prompt: z.string().optional(),
      prompt_ids: names.optional(),
      ...reported,
    }),
  },
  'memory/forget': {
    capability: 'core',
    kind: 'write',
    params: z.object(selecting),
    result: z.object({ forgotten: count, ...reported }),
  },
  'memory/promote': {
    capability: 'tiers',
    kind: 'write',
    params: z.object({ ids: names, tier: name, salience: z.number().optional(), ...extension }),
    result: z.object({ promoted: count }),
  },
  'memory/consolidate': {
    capability: 'tiers',
    kind: 'write',
    params: z.object(extension),
    result: z.object(reorganised),
  },
  'memory/reinforce': {
    capability: 'salience',
    kind: 'write',
    params: z.object({ ids: names, amount: z.number().optional(), ...extension }),
    result: z.object({ reinforced: count }),
  },
  'memory/fetch': {
    capability: 'keys',
    kind: 'read',
    params: z.object({ key: name, owner, embeddings: z.boolean().optional(), ...extension }),
    result: z.object({ record: recordSchema.nullable() }),
  },
  'memory/session/list': {
    capability: 'sessions',
    kind: 'read',
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
    capability: 'sessions',
    kind: 'write',
    params: z.object({ session: name, owner, ...extension }),
    result: z.object({ ...reorganised, closed: z.string(), flushed: count }),
  },
  'memory/events': {
    capability: 'events',
    kind: 'read',
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
    capability: 'events',
    kind: 'connection',
    params: z.object({ kinds: names.optional(), owner, ...extension }),
    result: z.object({ subscribed: z.literal(true) }),
  },
  'memory/events/unsubscribe': {
    capability: 'events',
    kind: 'connection',
    params: z.object(extension),
    result: z.object({ subscribed: z.literal(false) }),
  },
  'memory/summarize': {
    capability: 'summarize',
    kind: 'write',
    params: z.object({
      ...selecting,
      limit: count.optional(),
      into: name.optional(),
      key: name.optional(),
    }),
    result: z.object({ records: z.array(recordSchema), read: count, written: count }),
  },
} as const satisfies Readonly<Record<string, Spec>>

export type Method = keyof typeof METHODS
export type ParamsOf<M extends Method> = z.output<(typeof METHODS)[M]['params']>
export type ResultOf<M extends Method> = z.output<(typeof METHODS)[M]['result']>

/** What is known of one method; generic code indexes the mapped view, so that params and result stay tied to the name. */
export interface MethodSpec<M extends Method> {
  readonly capability: Capability
  readonly kind: Kind
  readonly params: z.ZodType<ParamsOf<M>>
  readonly result: z.ZodType<ResultOf<M>>
}
export const SPECS: { readonly [M in Method]: MethodSpec<M> } = METHODS

export const METHOD_NAMES = Object.keys(METHODS) as readonly Method[]

/** A server's answer about itself (§4.1). */
export type Description = ResultOf<'memory/describe'>

export function isMethod(text: string): text is Method {
  return Object.hasOwn(METHODS, text)
}
