import { formatInstant } from '../protocol/time.js'
import type { Dimension, UsageQuery } from './query.js'

/** One line: what it is about, then its sums. An owner that is no one's name is null, and `owner_kind` says which. */
export type UsageLine = Readonly<Record<string, string | number | null>>

/** An answer about usage, as `/usage` gives it. `to` is the first instant that is left out. */
export interface UsageAnswer {
  readonly by: readonly Dimension[]
  readonly from: string
  readonly to: string
  readonly lines: readonly UsageLine[]
  /** Over all that was asked for, each call once, also where `more` says that not every line is here. */
  readonly totals: Readonly<Record<string, number>>
  readonly more: boolean
}

/** A line as a database gives it. */
export type RawLine = Readonly<Record<string, unknown>>

const HOUR_MS = 3_600_000

/** Makes the answer of what the two statements of a question gave. */
export function answerOf(
  query: UsageQuery,
  lines: readonly RawLine[],
  totals: RawLine | undefined,
): UsageAnswer {
  return {
    by: query.by,
    from: formatInstant(query.from * HOUR_MS),
    to: formatInstant(query.to * HOUR_MS),
    lines: lines.slice(0, query.limit).map((line) => lineOf(query.by, line)),
    totals: numbersOf(totals ?? {}, []),
    more: lines.length > query.limit,
  }
}

function lineOf(by: readonly Dimension[], line: RawLine): UsageLine {
  const told: Record<string, string | number | null> = {}
  for (const name of by) Object.assign(told, dimensionOf(name, line[name]))
  return { ...told, ...numbersOf(line, by) }
}

function dimensionOf(name: Dimension, value: unknown): UsageLine {
  const text = String(value)
  if (name === 'hour') return { hour: formatInstant(Number(value) * HOUR_MS) }
  if (name === 'day') return { day: formatInstant(Number(value) * 24 * HOUR_MS).slice(0, 10) }
  return name === 'owner' ? ownerTold(text) : { [name]: text }
}

/** Reads back what `ownerKey` made. */
export function ownerTold(key: string): UsageLine {
  if (key === 'none:') return { owner: null, owner_kind: 'none' }
  if (key === 'any:') return { owner: null, owner_kind: 'several' }
  return { owner: key.slice(key.indexOf(':') + 1), owner_kind: 'one' }
}

function numbersOf(line: RawLine, by: readonly Dimension[]): Record<string, number> {
  const names = Object.keys(line).filter((name) => !by.some((dimension) => dimension === name))
  return Object.fromEntries(names.map((name) => [name, rounded(Number(line[name]))]))
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000
}
