import { z } from 'zod'
import { timestampSchema } from './records.js'

/** What a moved record brings along that a caller cannot say in an entry. */
export const carriedSchema = z.object({
  created_at: timestampSchema.optional(),
})

/**
 * In params. `owner` bounds calls that have no owner of their own (promote, consolidate) and, as null, any call to records
 * without an owner. `carried` goes with remember, one entry a record in their order, null where there is nothing to carry.
 */
export const extensionParamsSchema = z.object({
  owner: z.string().min(1).nullable().optional(),
  carried: z.array(carriedSchema.nullable()).optional(),
})

/** In describe: the store keeps ids apart by owner and takes `extensionParamsSchema`. */
export const extensionProfileSchema = z.object({ version: z.literal(1) })
