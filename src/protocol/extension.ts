import { z } from 'zod'
import { timestampSchema } from './records.js'

/**
 * The one name under which a gateway and a store that knows it tell each other what A2M has no word for. It stands beside the
 * params of a call, in describe of a store that understands it, and, where it does not, as a reserved key of metadata.
 */
export const EXTENSION = 'a2m-gateway'

/** What a moved record brings along that a caller cannot say in an entry. */
export const carriedSchema = z.object({
  created_at: timestampSchema.optional(),
})
export type Carried = z.output<typeof carriedSchema>

/**
 * In params. `owner` bounds calls that have no owner of their own (promote, consolidate) and, as null, any call to records
 * without an owner. `carried` goes with remember, one entry a record in their order, null where there is nothing to carry.
 */
export const extensionParamsSchema = z.object({
  owner: z.string().min(1).nullable().optional(),
  carried: z.array(carriedSchema.nullable()).optional(),
})
export type ExtensionParams = z.output<typeof extensionParamsSchema>

/** In describe: the store keeps ids apart by owner and takes `ExtensionParams`. */
export const extensionProfileSchema = z.object({ version: z.literal(1) })
