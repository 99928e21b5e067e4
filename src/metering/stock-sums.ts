import { formatInstant } from '../protocol/time.js'
import { ownerTold, type UsageLine } from './answer.js'

/** What one owner has in one tier at an instant. `source` is the gateway, by its name; `owner` as `ownerKey` has it. */
export interface StockCount {
  readonly source: string
  readonly owner: string
  readonly tier: string
  readonly records: number
  /** Undefined where they were not looked at; they are then estimated from what was there and what was written since. */
  readonly characters: number | undefined
  readonly written: Amount
  readonly at: number
}

/** So many records with so many characters of contents. */
export interface Amount {
  readonly records: number
  readonly characters: number
}

/** What stands in the ledger: the last count, and from when on it holds. */
export interface StockRow {
  readonly source: string
  readonly owner: string
  readonly tier: string
  readonly records: number
  readonly characters: number
  readonly since: number
}

/** Records times hours that fell on one day (since 1970, in UTC). */
export interface DayHours {
  readonly day: number
  readonly hours: number
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** The time between two instants by the day, in hours; none where the clock stands back. */
function hoursByDay(from: number, to: number): readonly DayHours[] {
  const days: DayHours[] = []
  for (let day = Math.floor(from / DAY_MS); day * DAY_MS < to; day++) {
    const begin = Math.max(from, day * DAY_MS)
    const end = Math.min(to, (day + 1) * DAY_MS)
    if (end > begin) days.push({ day, hours: (end - begin) / HOUR_MS })
  }
  return days
}

/** A count that takes the place of another; `days` are the record-hours that the earlier one came to. */
export function replaced(
  before: StockRow | undefined,
  count: StockCount,
): { readonly row: StockRow; readonly days: readonly DayHours[] } {
  const { source, owner, tier, records, at } = count
  const since = Math.max(at, before?.since ?? at)
  const spans = before === undefined ? [] : hoursByDay(before.since, since)
  const days = spans.map(({ day, hours }) => ({ day, hours: hours * (before?.records ?? 0) }))
  const row = { source, owner, tier, records, characters: charactersOf(before, count), since }
  return { row, days: days.filter(({ hours }) => hours > 0) }
}

/**
 * Records that have come are as long as what was written was on average, those that have gone as long as what was there. The count may
 * know of a write before the gateway does, so that its number is not added to.
 */
function charactersOf(before: StockRow | undefined, count: StockCount): number {
  const { records, characters, written } = count
  if (characters !== undefined) return characters
  const there = before ?? NOTHING
  const come = records - there.records
  const length = meanOf(come > 0 && written.records > 0 ? written : there)
  return Math.round(there.characters + come * length)
}

const NOTHING: Amount = { records: 0, characters: 0 }

function meanOf({ records, characters }: Amount): number {
  return records === 0 ? 0 : characters / records
}

/** One line of `/usage/stock` is one tier of one owner; tier-hours are records times hours between `from` and `to`. */
export interface StockAnswer {
  readonly from: string
  readonly to: string
  readonly lines: readonly UsageLine[]
  readonly totals: Readonly<Record<'records' | 'characters' | 'tier_hours', number>>
  readonly more: boolean
}

/** A row and the tier-hours of the whole days that were asked for, as a database gives them. */
export type StockFound = StockRow & { readonly hours: number | null }

interface Span {
  readonly from: number
  readonly to: number
  readonly now: number
  readonly limit: number
}

/** What has run up since the last count is added to what is written down. */
export function stockAnswer(found: readonly StockFound[], span: Span): StockAnswer {
  const lines = found.map((row) => {
    const begin = Math.max(row.since, span.from)
    const open = Math.max(0, Math.min(span.now, span.to) - begin) / HOUR_MS
    return lineOf(row, (row.hours ?? 0) + open * row.records)
  })
  const sum = (name: string) => lines.reduce((total, line) => total + Number(line[name]), 0)
  return {
    from: formatInstant(span.from),
    to: formatInstant(span.to),
    lines: lines.slice(0, span.limit),
    totals: {
      records: sum('records'),
      characters: sum('characters'),
      tier_hours: sum('tier_hours'),
    },
    more: lines.length > span.limit,
  }
}

function lineOf(row: StockRow, hours: number): UsageLine {
  return {
    gateway: row.source,
    ...ownerTold(row.owner),
    tier: row.tier,
    records: row.records,
    characters: row.characters,
    tier_hours: Math.round(hours * 1000) / 1000,
    counted_at: formatInstant(row.since),
  }
}
