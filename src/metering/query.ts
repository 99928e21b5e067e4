import { parseInstant } from '../protocol/time.js'

/** What usage can be told by, in any combination. */
export const DIMENSIONS = [
  'caller',
  'owner',
  'method',
  'tier',
  'upstream',
  'outcome',
  'version',
  'hour',
  'day',
  'month',
] as const
export type Dimension = (typeof DIMENSIONS)[number]

/** What usage can be narrowed to. */
export const FILTERS = [
  'caller',
  'owner',
  'method',
  'tier',
  'upstream',
  'outcome',
  'version',
] as const
export type Filter = (typeof FILTERS)[number]

/** A question to the ledger. Hours are since 1970 in UTC; `to` is the first hour that is left out. */
export interface UsageQuery {
  readonly by: readonly Dimension[]
  readonly from: number
  readonly to: number
  readonly where: Readonly<Partial<Record<Filter, readonly string[]>>>
  readonly limit: number
}

/** What is wrong with a question, and what to write instead. */
export class QueryError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'QueryError'
  }
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const DEFAULT_DAYS = 30
export const DEFAULT_LIMIT = 10_000
const MOST_ROWS = 100_000
const KNOWN: ReadonlySet<string> = new Set(['by', 'from', 'to', 'limit', 'format', ...FILTERS])

/** Reads the parameters of a URL. Throws a `QueryError`. */
export function readQuery(params: URLSearchParams, now: number): UsageQuery {
  for (const name of params.keys()) {
    if (!KNOWN.has(name))
      throw new QueryError(`${name}: unknown; known are ${[...KNOWN].join(', ')}`)
  }
  const from = instantOf('from', params, now) ?? now - DEFAULT_DAYS * DAY_MS
  const to = instantOf('to', params, now) ?? now + HOUR_MS
  if (to <= from) throw new QueryError('to: must be later than from')
  return {
    by: readBy(params.getAll('by')),
    from: Math.floor(from / HOUR_MS),
    to: Math.ceil(to / HOUR_MS),
    where: readFilters(params),
    limit: readLimit(single('limit', params)),
  }
}

function readBy(written: readonly string[]): readonly Dimension[] {
  const names = written.flatMap((list) => list.split(',')).filter((name) => name !== '')
  if (names.length === 0) return ['caller']
  return [...new Set(names)].map((name) => {
    const known = DIMENSIONS.find((dimension) => dimension === name)
    if (known !== undefined) return known
    throw new QueryError(`by: ${quoted(name)} is none of ${DIMENSIONS.join(', ')}`)
  })
}

function readFilters(params: URLSearchParams): UsageQuery['where'] {
  const where: Partial<Record<Filter, readonly string[]>> = {}
  for (const name of FILTERS) {
    const values = params.getAll(name)
    if (values.length > 0) where[name] = values
  }
  return where
}

function readLimit(written: string | undefined): number {
  if (written === undefined) return DEFAULT_LIMIT
  const limit = /^\d{1,7}$/.test(written) ? Number(written) : 0
  if (limit >= 1 && limit <= MOST_ROWS) return limit
  throw new QueryError(`limit: must be a whole number from 1 to ${MOST_ROWS}`)
}

function single(name: string, params: URLSearchParams): string | undefined {
  const values = params.getAll(name)
  if (values.length > 1) throw new QueryError(`${name}: may be given once`)
  return values[0]
}

function instantOf(name: string, params: URLSearchParams, now: number): number | undefined {
  const written = single(name, params)
  if (written === undefined) return undefined
  const instant = readInstant(written, now)
  if (instant !== undefined) return instant
  throw new QueryError(
    `${name}: must be a time such as 2026-03-01, 2026-03, 2026-03-01T12:00:00Z or, back from now, 24h or 30d`,
  )
}

const SPANS: Readonly<Record<string, number>> = { h: HOUR_MS, d: DAY_MS }

/** A month or a day begins in UTC. A `+` that was not escaped in a URL arrives as a space. */
function readInstant(written: string, now: number): number | undefined {
  const span = /^(\d{1,5})([hd])$/.exec(written)
  if (span !== null) return now - Number(span[1]) * (SPANS[span[2] ?? ''] ?? 0)
  if (/^\d{4}-\d\d$/.test(written)) return parseInstant(`${written}-01T00:00:00Z`)
  if (/^\d{4}-\d\d-\d\d$/.test(written)) return parseInstant(`${written}T00:00:00Z`)
  return parseInstant(written.replace(/ (?=\d\d:\d\d$)/, '+'))
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 80))
}
