import type { MemoryRecord } from './records.js'

const FIELDS: Readonly<Record<keyof MemoryRecord, true>> = {
  id: true,
  content: true,
  created_at: true,
  role: true,
  metadata: true,
  group: true,
  tier: true,
  salience: true,
  accessed_at: true,
  access_count: true,
  owner: true,
  session: true,
  key: true,
  revision: true,
  embedding: true,
  uri: true,
  media_type: true,
  score: true,
}

/** Every field that the specification gives a record, in its order (§3.1). Apart from the schema, which a store's thread does not load. */
export const RECORD_FIELDS = Object.keys(FIELDS) as readonly (keyof MemoryRecord)[]
