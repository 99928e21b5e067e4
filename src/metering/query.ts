import { ownerKey } from '../protocol/scope.js'
import { parseInstant } from '../protocol/time.js'
import type { StockQuery } from './ledger.js'

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

/** What usage can be told by, in any combination. */
export const DIMENSIONS = [...FILTERS, 'hour', 'day', 'month'] as const
export type Dimension = (typeof DIMENSIONS)[number]

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
const DEFAULT_LIMIT = 10_000
const MOST_ROWS = 100_000
const OF_ALL = ['from', 'to', 'limit', 'format']
const KNOWN: ReadonlySet<string> = new Set(['by', ...OF_ALL, ...FILTERS])
const KNOWN_OF_STOCK: ReadonlySet<string> = new Set(['owner', 'gateway', ...OF_ALL])

/** Reads the parameters of a URL. Throws a `QueryError`. */
export function readQuery(params: URLSearchParams, now: number): UsageQuery {
  refuseUnknown(params, KNOWN)
  const { from, to } = readSpan(params, now)
  return {
    by: readBy(params.getAll('by')),
    from: Math.floor(from / HOUR_MS),
    to: Math.ceil(to / HOUR_MS),
    where: readFilters(params),
    limit: readLimit(single('limit', params)),
  }
}

/** The same for a question about stock. */
export function readStockQuery(params: URLSearchParams, now: number): StockQuery {
  refuseUnknown(params, KNOWN_OF_STOCK)
  const { from, to } = readSpan(params, now)
  const owner = single('owner', params)
  return {
    source: single('gateway', params),
    owner: owner === undefined ? undefined : ownerFilter(owner),
    from: Math.floor(from / DAY_MS) * DAY_MS,
    to: Math.ceil(to / DAY_MS) * DAY_MS,
    now,
    limit: readLimit(single('limit', params)),
  }
}

/** How an answer is wanted: as the parameter `format` says, else as the `Accept` header does. Throws a `QueryError`. */
export function readFormat(params: URLSearchParams, accept: string | undefined): 'json' | 'csv' {
  const written = single('format', params)
  if (written === 'json' || written === 'csv') return written
  if (written !== undefined) throw new QueryError('format: must be json or csv')
  return accept?.includes('text/csv') === true ? 'csv' : 'json'
}

/** As the ledger has it. An empty name is for records without an owner. */
export function ownerFilter(owner: string): string {
  return ownerKey(owner === '' ? null : owner)
}

function refuseUnknown(params: URLSearchParams, known: ReadonlySet<string>): void {
  const strange = [...params.keys()].find((name) => !known.has(name))
  if (strange === undefined) return
  throw new QueryError(`${quoted(strange)} is unknown; known are ${[...known].join(', ')}`)
}

function readSpan(params: URLSearchParams, now: number): { from: number; to: number } {
  const from = instantOf('from', params, now) ?? now - DEFAULT_DAYS * DAY_MS
  const until = instantOf('to', params, now)
  const to = until ?? now + 1
  if (until === undefined && to <= from) throw new QueryError('from: must be before now')
  if (to <= from) throw new QueryError('to: must be later than from')
  return { from, to }
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
