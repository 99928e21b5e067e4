import { z } from 'zod'
import { timestampSchema, vectorSchema } from './records.js'

/**
 * What a moved record brings along. A store that knows the extension is told what no entry can say: `created_at`, `accessed_at`,
 * `access_count` and `revision`. The rest is for stores that lack a capability, where all of it rides in reserved metadata.
 */
export const carriedSchema = z.object({
  created_at: timestampSchema.optional(),
  accessed_at: timestampSchema.optional(),
  access_count: z.int().min(0).optional(),
  revision: z.int().min(0).optional(),
  salience: z.number().optional(),
  session: z.string().optional(),
  key: z.string().optional(),
  embedding: vectorSchema.optional(),
  uri: z.string().optional(),
  media_type: z.string().optional(),
})

/**
 * In params. `owner` bounds calls that have no owner of their own (promote, consolidate, reinforce) and, as null, any call to
 * records without an owner. `carried` goes with remember, one entry a record in their order, null where there is nothing to
 * carry. `quiet` on recall and fetch: reading is no use of the records. `used` on reinforce: the records went out to a caller, so
 * `access_count` and `accessed_at` rise and the salience by `amount` alone. `similarities` on recall by a vector: they come along.
 * `outline` on timeline: contents may come empty and metadata not at all, since only the standing of the records is looked at.
 */
export const extensionParamsSchema = z.object({
  owner: z.string().min(1).nullable().optional(),
  carried: z.array(carriedSchema.nullable()).optional(),
  quiet: z.boolean().optional(),
  used: z.boolean().optional(),
  similarities: z.boolean().optional(),
  outline: z.boolean().optional(),
})

/**
 * Beside the records of a recall: how similar each is to the vector that was asked by, in the metric that is declared (the cosine,
 * the product, or less than 0 by the square of the distance), null where it has no vector. These are no scores: worked out alike
 * everywhere, those of two stores compare, and a vector is twenty times as long.
 */
export const extensionRecalledSchema = z.object({ similarities: z.array(z.number().nullable()) })

/** In describe: the store keeps ids apart by owner and takes `extensionParamsSchema`. */
export const extensionProfileSchema = z.object({ version: z.literal(1) })
