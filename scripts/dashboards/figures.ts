import { layoutOf, type Panel, type Target } from './board.js'
import type { Prometheus, Range, Series } from './prometheus.js'

/** One line of a time series, or one bar. */
export interface Line {
  readonly name: string
  readonly points: Series['points']
}

/** One row of a table by the headers of its columns: texts of labels, numbers of values. */
export type Row = ReadonlyMap<string, string | number>

/** What a panel shows. */
export interface Figures {
  readonly lines: readonly Line[]
  readonly rows: readonly Row[]
}

/** What Grafana would put for the variables of a query. */
const VARIABLES: Readonly<Record<string, string>> = {
  $__rate_interval: '10s',
  $__range: '2m',
  $instance: '.*',
}

/** Asks for everything that a panel shows. */
export async function figuresOf(
  panel: Panel,
  prometheus: Prometheus,
  range: Range,
): Promise<Figures> {
  const answers = await Promise.all(
    panel.targets.map(async (target) => {
      const query = filled(target.expr)
      const now = target.instant || panel.type === 'table'
      const series = now
        ? await prometheus.at(query, range.end)
        : await prometheus.range(query, range)
      return { target, series }
    }),
  )
  if (panel.type === 'table') return { lines: [], rows: rowsOf(panel, answers) }
  const lines = answers.flatMap(({ target, series }) => linesOf(target, series))
  return { lines, rows: [] }
}

function filled(expr: string): string {
  return Object.entries(VARIABLES).reduce(
    (text, [name, value]) => text.replaceAll(name, value),
    expr,
  )
}

/** Those over time in the order of their names; those of one instant as the query puts them. */
function linesOf({ legendFormat, instant }: Target, series: readonly Series[]): Line[] {
  const lines = series.map(({ labels, points }) => ({
    name: legendFormat.replace(/\{\{(\w+)\}\}/g, (_, label: string) => labels[label] ?? ''),
    points,
  }))
  return instant ? lines : lines.sort((a, b) => a.name.localeCompare(b.name))
}

interface Answer {
  readonly target: Target
  readonly series: readonly Series[]
}

function rowsOf(panel: Panel, answers: readonly Answer[]): Row[] {
  const { by, columns } = layoutOf(panel)
  const names = answers.flatMap(({ series }) => series.map(({ labels }) => labels[by] ?? ''))
  const distinct = [...new Set(names)].sort()
  return distinct.map((name) => {
    const cells = new Map<string, string | number>([[by, name]])
    for (const { target, series } of answers) {
      const found = series.find(({ labels }) => labels[by] === name)
      if (found === undefined) continue
      for (const [label, text] of Object.entries(found.labels)) cells.set(label, text)
      cells.set(`Value #${target.refId}`, found.points.at(-1)?.[1] ?? Number.NaN)
    }
    return new Map(columns.map(({ source, header }) => [header, cells.get(source) ?? '']))
  })
}
