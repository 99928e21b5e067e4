import type { UsageLine } from '../metering/answer.js'
import { type Cell, table } from './table.js'
import type { Colours } from './terminal.js'
import type { Told } from './usage-source.js'

/** A column of numbers: what stands over it, and how a line's cell is made. */
interface Column {
  readonly head: string
  readonly cell: (numbers: UsageLine) => string
}

const plain = (head: string, name: string): Column => ({
  head,
  cell: (numbers) => grouped(numberIn(numbers, name)),
})

const OF_CALLS: readonly Column[] = [
  plain('calls', 'calls'),
  plain('records in', 'records_in'),
  plain('out', 'records_out'),
  plain('characters in', 'characters_in'),
  plain('out', 'characters_out'),
  plain('tokens', 'tokens'),
  {
    head: 'bytes',
    cell: (numbers) => size(numberIn(numbers, 'bytes_in') + numberIn(numbers, 'bytes_out')),
  },
  plain('attempts', 'attempts'),
  { head: 'mean time', cell: (numbers) => mean(numbers, 'calls') },
]

const OF_UPSTREAMS: readonly Column[] = [
  plain('calls', 'calls'),
  plain('asks', 'asks'),
  plain('attempts', 'attempts'),
  plain('failures', 'failures'),
  plain('refusals', 'refusals'),
  plain('left out', 'skipped'),
  plain('records', 'records'),
  { head: 'mean time', cell: (numbers) => mean(numbers, 'asks') },
]

const OF_STOCK: readonly Column[] = [
  plain('records', 'records'),
  plain('characters', 'characters'),
  plain('tier-hours', 'tier_hours'),
]

/** What was told, as a table with the totals under it. */
export function usageTable(told: Told, { bold, dim }: Colours): readonly string[] {
  const names = namesOf(told)
  const columns = columnsOf(told.totals)
  const rows = [
    [...names, ...columns.map(({ head }) => head)],
    ...told.lines.map((line) => [
      ...names.map((name) => textOf(line, name)),
      ...columns.map(({ cell }) => cell(line)),
    ]),
    [
      ...names.map((_, index) => (index === 0 ? 'total' : '')),
      ...columns.map(({ cell }) => cell(told.totals)),
    ],
  ]
  const aligned = toTheRight(rows, names.length)
  const painted = aligned.map((row, index): readonly Cell[] => {
    if (index > 0 && index < aligned.length - 1) return row
    return row.map((text) => ({ text, paint: index === 0 ? dim : bold }))
  })
  const more = told.more ? ['and more: narrow the question, or raise --limit'] : []
  return [dim(`${told.from} to ${told.to}`), ...table(painted), ...more]
}

/** The texts of the first line that are no sums; the kind of an owner shows in its name. */
function namesOf({ lines, totals }: Told): readonly string[] {
  const shown = (name: string) => !(name in totals) && name !== 'owner_kind'
  return Object.keys(lines[0] ?? { nothing: null }).filter(shown)
}

function columnsOf(totals: UsageLine): readonly Column[] {
  if ('tier_hours' in totals) return OF_STOCK
  return 'asks' in totals ? OF_UPSTREAMS : OF_CALLS
}

function textOf(line: UsageLine, name: string): string {
  const value = line[name]
  if (name === 'owner' && value === null) return `(${line['owner_kind']})`
  return `${value ?? ''}` || '-'
}

/** Numbers stand under one another by their last digit. */
function toTheRight(rows: readonly (readonly string[])[], first: number): readonly string[][] {
  const width = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0))
  const widths = (rows[0] ?? []).map((_, column) => width(column))
  return rows.map((row) =>
    row.map((text, column) => (column < first ? text : text.padStart(widths[column] ?? 0))),
  )
}

function numberIn(numbers: UsageLine, name: string): number {
  return Number(numbers[name] ?? 0)
}

/** With a comma between thousands. */
function grouped(value: number): string {
  const [whole = '', fraction] = `${value}`.split('.')
  const commas = whole.replace(/\B(?=(\d{3})+$)/g, ',')
  return fraction === undefined ? commas : `${commas}.${fraction.slice(0, 2)}`
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

function size(bytes: number): string {
  let [value, unit] = [bytes, 0]
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024
    unit++
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${UNITS[unit]}`
}

function mean(numbers: UsageLine, of: string): string {
  const count = numberIn(numbers, of)
  if (count === 0) return '-'
  const ms = numberIn(numbers, 'ms') / count
  return ms >= 1000 ? `${(ms / 1000).toFixed(2)} s` : `${ms.toFixed(2)} ms`
}
