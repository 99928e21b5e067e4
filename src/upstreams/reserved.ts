import { z } from 'zod'
import { type Carried, EXTENSION } from '../protocol/extension.js'
import { carriedSchema } from '../protocol/extension-schemas.js'
import { JsonText } from '../protocol/json.js'
import { withMember, withoutMember } from '../protocol/members.js'
import type { MemoryRecord } from '../protocol/records.js'

/** What reserved metadata holds; `bare` where the record had no metadata of its own. */
const reservedSchema = carriedSchema.extend({ bare: z.literal(true).optional() })

/** Metadata that also holds what its upstream could not be told; the rest of it stays to the letter. */
export function reserve(metadata: JsonText | undefined, carried: Carried): JsonText {
  return withMember(
    metadata,
    EXTENSION,
    metadata === undefined ? { ...carried, bare: true } : carried,
  )
}

/** Puts back what a record carries in reserved metadata, and takes that out of sight. */
export function restore(raw: MemoryRecord): MemoryRecord {
  if (raw.metadata === undefined || !raw.metadata.text.includes(EXTENSION)) return raw
  const { value, rest } = withoutMember(raw.metadata, EXTENSION)
  const reserved = reservedSchema.safeParse(value)
  if (!reserved.success) return raw
  const { metadata: _, ...plain } = raw
  const { created_at = raw.created_at, bare } = reserved.data
  return bare
    ? { ...plain, created_at }
    : { ...plain, created_at, metadata: rest ?? new JsonText('{}') }
}
