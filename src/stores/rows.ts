import { JsonText } from '../protocol/json.js'
import type { MemoryRecord } from '../protocol/records.js'
import { USUAL_SALIENCE } from '../protocol/salience.js'
import { formatInstant } from '../protocol/time.js'
import type { Partition } from './partitions.js'

/** What a write says of a record; a write to its key says all of it anew. `length` is in terms. */
export interface Statement {
  readonly length: number
  readonly group: string | null
  readonly role: string | null
  readonly content: string
  readonly metadata: string | null
  /** Null is what a record has that none was written for. */
  readonly salience: number | null
  readonly session: string | null
  readonly revision: number | null
  readonly uri: string | null
  readonly media_type: string | null
}

/** A row that has not been written yet; instants in ms since 1970. */
export interface NewRow extends Statement {
  readonly id: string
  readonly ownerNo: number
  readonly partitionNo: number
  readonly key: string | null
  readonly created_at: number
  /** Of its last use. */
  readonly accessed_at: number | null
  readonly access_count: number | null
}

/** A record as the file holds it, without its vector. */
export interface Row extends NewRow {
  readonly seq: number
}

/** Newest first; of one instant the one written last. */
export function byAge(left: Row, right: Row): number {
  return right.created_at - left.created_at || right.seq - left.seq
}

/** The record as callers see it; fields are set one by one because a search makes hundreds. */
export function toRecord(row: Row, { owner, tier }: Partition): MemoryRecord {
  const record: MemoryRecord = {
    id: row.id,
    content: row.content,
    created_at: formatInstant(row.created_at),
    tier,
    salience: row.salience ?? USUAL_SALIENCE,
    access_count: row.access_count ?? 0,
  }
  if (row.role !== null) record.role = row.role
  if (row.metadata !== null) record.metadata = new JsonText(row.metadata)
  if (row.group !== null) record.group = row.group
  if (owner !== null) record.owner = owner
  if (row.accessed_at !== null) record.accessed_at = formatInstant(row.accessed_at)
  if (row.session !== null) record.session = row.session
  if (row.key !== null) record.key = row.key
  if (row.revision !== null) record.revision = row.revision
  if (row.uri !== null) record.uri = row.uri
  if (row.media_type !== null) record.media_type = row.media_type
  return record
}
