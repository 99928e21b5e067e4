import { formatInstant } from '../protocol/time.js'
import { type PlaceBook, partSeen, type Sees } from './places.js'
import { joined, type Part } from './shares.js'

/** One row of a log: what one owner sees of one event. */
export interface Row {
  readonly seq: number
  readonly position: number
  readonly at: number
  readonly kind: string
  readonly part: string
}

/** An event as callers are told it (§4.12). */
export interface LoggedEvent {
  readonly kind: string
  readonly at: string
  readonly [field: string]: unknown
}

/** A page ends where its events take more characters. */
const MOST_CHARACTERS = 1 << 20
/** A page ends where so many events were looked at, whether or not the reader sees them. */
const MOST_LOOKED_AT = 10_000

export interface PageOptions {
  /** Behind which the rows begin. */
  readonly position: number
  /** The most events of the page. */
  readonly most: number
  /** What is there for the reader; undefined: everything. */
  readonly sees: Sees | undefined
  /** Undefined where no places are kept. */
  readonly places: PlaceBook | undefined
}

/** Events out of rows in their order; `last` is where the page ends when there are more. */
export function pageOf(
  rows: Iterable<Row>,
  { position, most, sees, places }: PageOptions,
): { readonly events: LoggedEvent[]; readonly last: number | undefined } {
  const events: LoggedEvent[] = []
  let size = 0
  let looked = 0
  let last = position
  for (const group of byPosition(rows)) {
    if (events.length >= most || size > MOST_CHARACTERS || looked >= MOST_LOOKED_AT) {
      return { events, last }
    }
    const event = eventOf(group, sees && ((row, part) => seen(row, part, { sees, places })))
    if (event !== undefined) events.push(event)
    size += group.reduce((sum, { part }) => sum + part.length, 0)
    looked++
    last = group[0]?.position ?? last
  }
  return { events, last: undefined }
}

function* byPosition(rows: Iterable<Row>): Generator<Row[]> {
  let group: Row[] = []
  for (const row of rows) {
    if (group[0] !== undefined && group[0].position !== row.position) {
      yield group
      group = []
    }
    group.push(row)
  }
  if (group.length > 0) yield group
}

type Cut = (row: Row, part: Part) => Part | undefined

function eventOf(rows: readonly Row[], cut: Cut | undefined): LoggedEvent | undefined {
  const parts = rows.flatMap((row): Part[] => {
    const part: Part = JSON.parse(row.part)
    return cut === undefined ? [part] : [cut(row, part) ?? []].flat()
  })
  if (parts.length === 0) return undefined
  const kind = rows[0]?.kind ?? ''
  return { kind, ...joined(kind, parts), at: formatInstant(rows[0]?.at ?? 0) }
}

interface Seeing {
  readonly sees: Sees
  readonly places: PlaceBook | undefined
}

function seen({ seq, kind }: Row, part: Part, { sees, places }: Seeing): Part | undefined {
  return partSeen(kind, part, places?.of(seq), sees)
}
