import { z } from 'zod'
import { JsonText } from './json.js'
import { parseInstant } from './time.js'

/** Metadata is any JSON object, kept as its source text (§3.1: round-tripped byte for byte in structure). */
const metadataSchema = z.custom<JsonText>(
  (value) => value instanceof JsonText && value.text.startsWith('{'),
  'must be an object',
)

/** Any RFC 3339 timestamp that `parseInstant` reads. */
export const timestampSchema = z
  .string()
  .refine((text) => parseInstant(text) !== undefined, 'must be an RFC 3339 timestamp')

/** Checked by hand: a schema costs half a millisecond on a vector of 768. */
export const vectorSchema = z.custom<readonly number[]>(
  isVector,
  'must be a non-empty array of finite numbers',
)

/** The most numbers of a vector that is written or searched by; several times what the widest models give. */
const MOST_DIMENSIONS = 16_384

/** A vector of a caller. */
export const givenVectorSchema = vectorSchema.refine(
  ({ length }) => length <= MOST_DIMENSIONS,
  `must have at most ${MOST_DIMENSIONS} numbers`,
)

function isVector(value: unknown): boolean {
  if (!Array.isArray(value) || value.length === 0) return false
  for (const entry of value) if (typeof entry !== 'number' || !Number.isFinite(entry)) return false
  return true
}

/** A record may point at something and contain nothing (§3.8): then its content is empty, said or not. */
function withContent(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || 'content' in value) return value
  const points = 'uri' in value && typeof value.uri === 'string'
  return points ? { ...value, content: '' } : value
}

const writtenSchema = z.object({
  id: z.string().min(1).optional(),
  content: z.string(),
  role: z.string().optional(),
  metadata: metadataSchema.optional(),
  group: z.string().min(1).optional(),
  tier: z.string().min(1).optional(),
  salience: z.number().optional(),
  owner: z.string().min(1).optional(),
  session: z.string().min(1).optional(),
  key: z.string().min(1).optional(),
  embedding: givenVectorSchema.optional(),
  uri: z.string().min(1).optional(),
  media_type: z.string().optional(),
})

/** What a caller may write of a record (§3.1, §4.2). Ids, keys, sessions and owners are opaque but never empty. */
export const entrySchema = z.preprocess(withContent, writtenSchema)

/** A partial record, as `memory/remember` takes it. */
export type Entry = z.output<typeof entrySchema>

/** A remembered thing as a store tells it (§3.1). Timestamps as the store wrote them: any RFC 3339. */
export const recordSchema = z.object({
  id: z.string().min(1),
  content: z.string(),
  created_at: timestampSchema,
  role: z.string().optional(),
  metadata: metadataSchema.optional(),
  group: z.string().optional(),
  tier: z.string().optional(),
  salience: z.number().optional(),
  accessed_at: timestampSchema.optional(),
  access_count: z.int().optional(),
  owner: z.string().optional(),
  session: z.string().optional(),
  key: z.string().optional(),
  revision: z.int().optional(),
  embedding: vectorSchema.optional(),
  uri: z.string().optional(),
  media_type: z.string().optional(),
  score: z.number().optional(),
})

/** Named so as not to shadow TypeScript's `Record`. */
export type MemoryRecord = z.output<typeof recordSchema>
