import { type Dimension, type Filter, ownerFilter, type UsageQuery } from './query.js'
import { CALL_SUMS, clean, UPSTREAM_SUMS } from './rollups.js'

/** Where the two databases speak differently. Parameters are `$1`, `$2`… in both. */
export interface Dialect {
  /** The year and month of the column `hour`. */
  readonly month: string
  /** Joins the elements of the JSON array `tiers` as `tier.value`; an empty one as one empty text. */
  readonly eachTier: string
  /** Whether the JSON array `tiers` holds one of a list of parameters. */
  readonly holdsTier: (parameters: string) => string
}

export const SQLITE: Dialect = {
  month: "strftime('%Y-%m', hour * 3600, 'unixepoch')",
  eachTier: `JOIN json_each(CASE tiers WHEN '[]' THEN '[""]' ELSE tiers END) AS tier`,
  holdsTier: (list) => `EXISTS (SELECT 1 FROM json_each(tiers) WHERE value IN (${list}))`,
}

export const POSTGRES: Dialect = {
  month: "to_char(to_timestamp(hour * 3600) AT TIME ZONE 'UTC', 'YYYY-MM')",
  eachTier: `CROSS JOIN LATERAL jsonb_array_elements_text(
    CASE tiers WHEN '[]' THEN '[""]' ELSE tiers END::jsonb) AS tier(value)`,
  holdsTier: (list) =>
    `EXISTS (SELECT 1 FROM jsonb_array_elements_text(tiers::jsonb) AS t(v) WHERE v IN (${list}))`,
}

export interface Statement {
  readonly text: string
  readonly values: readonly (string | number)[]
}

/** Whether a question is about what upstreams were asked; then the sums are those of asks. */
function asksUpstreams({ by, where }: UsageQuery): boolean {
  return by.includes('upstream') || where.upstream !== undefined
}

/** The lines that a question asks for, one more than its limit, so that it shows whether there are more. */
export function linesOf(query: UsageQuery, dialect: Dialect): Statement {
  const values: (string | number)[] = []
  const columns = query.by.map((name) => `${columnOf(name, dialect)} AS "${name}"`)
  const each = query.by.includes('tier') ? dialect.eachTier : ''
  const where = conditions(query, dialect, values)
  const keys = query.by.map((name) => `"${name}"`)
  const times = keys.filter((key) => TIMES.has(key))
  const order = [...times, 'calls DESC', ...keys.filter((key) => !TIMES.has(key))]
  values.push(query.limit + 1)
  const text = `SELECT ${[...columns, ...sums(query)].join(', ')} FROM ${tableOf(query)} ${each}
    WHERE ${where} GROUP BY ${keys.join(', ')} ORDER BY ${order.join(', ')} LIMIT $${values.length}`
  return { text, values }
}

/** What all lines come to; a call that stands in two lines, such as those of two tiers or of two upstreams, is in here once. */
export function totalsOf(query: UsageQuery, dialect: Dialect): Statement {
  const values: (string | number)[] = []
  const where = conditions({ ...query, by: [] }, dialect, values)
  const [calls = '', ...others] = sums(query)
  // Nobody can tell from what each upstream was asked how many calls that were.
  const ofAll = asksUpstreams(query) && query.where.upstream === undefined
  const first = ofAll ? `(SELECT SUM(calls) FROM usage_calls WHERE ${where}) AS calls` : calls
  const columns = [first, ...others].join(', ')
  return { text: `SELECT ${columns} FROM ${tableOf(query)} WHERE ${where}`, values }
}

const TIMES: ReadonlySet<string> = new Set(['"hour"', '"day"', '"month"'])

function tableOf(query: UsageQuery): string {
  return asksUpstreams(query) ? 'usage_upstreams' : 'usage_calls'
}

function sums(query: UsageQuery): readonly string[] {
  const names = asksUpstreams(query) ? UPSTREAM_SUMS : CALL_SUMS
  return names.map((name) => `CAST(COALESCE(SUM(${name}), 0) AS double precision) AS ${name}`)
}

function columnOf(name: Dimension, { month }: Dialect): string {
  if (name === 'day') return 'hour / 24'
  if (name === 'month') return month
  return name === 'tier' ? 'tier.value' : name
}

function conditions(query: UsageQuery, dialect: Dialect, values: (string | number)[]): string {
  const bind = (value: string | number) => `$${values.push(value)}`
  const parts = [`hour >= ${bind(query.from)}`, `hour < ${bind(query.to)}`]
  for (const [name, wanted] of entriesOf(query.where)) {
    const list = wanted
      .map((value) => bind(clean(name === 'owner' ? ownerFilter(value) : value)))
      .join(', ')
    if (name !== 'tier') parts.push(`${name} IN (${list})`)
    else if (query.by.includes('tier')) parts.push(`tier.value IN (${list})`)
    else parts.push(dialect.holdsTier(list))
  }
  return parts.join(' AND ')
}

function entriesOf(where: UsageQuery['where']): [Filter, readonly string[]][] {
  return Object.entries(where) as [Filter, readonly string[]][]
}
