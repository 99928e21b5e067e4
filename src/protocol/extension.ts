import type { z } from 'zod'
import type { carriedSchema, extensionParamsSchema } from './extension-schemas.js'

/**
 * The one name under which a gateway and a store that knows it tell each other what A2M has no word for. It stands beside the
 * params of a call, in describe of a store that understands it, and, where it does not, as a reserved key of metadata.
 */
export const EXTENSION = 'a2m-gateway'

export type Carried = z.output<typeof carriedSchema>
export type ExtensionParams = z.output<typeof extensionParamsSchema>
