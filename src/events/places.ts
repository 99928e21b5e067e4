import type { Database } from 'better-sqlite3'
import type { RecordPlace } from './changes.js'
import type { Part } from './shares.js'

/**
 * A migration step, for a log whose readers do not see every place: where the records of a row are. Of a row that has none here
 * nobody can tell.
 */
export const EVENT_PLACES_TABLE = `
  CREATE TABLE event_places (seq INTEGER PRIMARY KEY, places TEXT NOT NULL);
`

/** Whether what is at a place is there for a reader. */
export type Sees = (place: RecordPlace) => boolean

/** Where the records of the rows of a log are. */
export interface PlaceBook {
  keep(seq: number, places: string): void
  of(seq: number): readonly RecordPlace[] | undefined
  /** Lets go of rows up to one. */
  drop(seq: number): void
}

export function createPlaceBook(database: Database): PlaceBook {
  const insert = database.prepare<[number, string]>(
    'INSERT INTO event_places (seq, places) VALUES (?, ?)',
  )
  const select = database
    .prepare<[number], string>('SELECT places FROM event_places WHERE seq = ?')
    .pluck()
  const drop = database.prepare<[number]>('DELETE FROM event_places WHERE seq <= ?')
  return {
    keep: (seq, places) => void insert.run(seq, places),
    of: (seq) => readPlaces(select.get(seq)),
    drop: (seq) => void drop.run(seq),
  }
}

type Written = readonly [tier: string, upstream: string, key?: string]

export function printPlaces(places: readonly RecordPlace[]): string {
  const written = places.map(
    ({ tier, upstream, key }): Written =>
      key === undefined ? [tier, upstream] : [tier, upstream, key],
  )
  return JSON.stringify(written)
}

function readPlaces(text: string | undefined): RecordPlace[] | undefined {
  if (text === undefined) return undefined
  const written: readonly Written[] = JSON.parse(text)
  return written.map(([tier, upstream, key]) => ({ tier, upstream, key }))
}

/**
 * What of a row there is for a reader who does not see every place: of single records those that it sees, of counts none unless it
 * sees all that was counted; that a session was closed, where it sees something of it.
 */
export function partSeen(
  kind: string,
  part: Part,
  places: readonly RecordPlace[] | undefined,
  sees: Sees,
): Part | undefined {
  if (places === undefined) return undefined
  if (kind === 'session_closed') return places.some(sees) ? part : undefined
  const { ids } = part
  if (!Array.isArray(ids)) return places.every(sees) ? part : undefined
  const seen = ids.filter((_, index) => {
    const place = places[index]
    return place !== undefined && sees(place)
  })
  if (seen.length === 0) return undefined
  return 'count' in part ? { ...part, count: seen.length, ids: seen } : { ...part, ids: seen }
}
