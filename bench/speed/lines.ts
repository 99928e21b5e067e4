import { type Summary, summary } from '../harness/statistics.js'
import { layOut } from '../harness/table.js'
import type { Measured } from './rounds.js'

/** What is to be reached. */
interface Target {
  readonly text: string
  readonly met: boolean
}

/** One line of the table of rates. */
export interface RateLine {
  readonly row: string
  readonly measured: Measured
  /** What its rate is to that of another, round by round. */
  readonly ratio?: { readonly to: string; readonly values: Summary } | undefined
  readonly target?: Target | undefined
}

/** One figure that is no rate. */
export interface FigureLine {
  readonly row: string
  readonly what: string
  readonly value: string
  readonly spread: string
  /** What it is to something that was measured in the same run. */
  readonly ratio: string
  readonly to: string
  readonly target?: Target | undefined
}

export function rateLine(row: string, measured: Measured): RateLine {
  return { row, measured }
}

/** A line with a ratio, held to a least where there is one. */
export function comparedLine(
  row: string,
  { measured, to, least }: { measured: Measured; to: Measured; least?: number },
): RateLine {
  const values = summary(measured.perSecond.map((rate, round) => rate / (to.perSecond[round] ?? 0)))
  const target =
    least === undefined
      ? undefined
      : { text: `>= ${least.toFixed(2)}`, met: values.median >= least }
  return { row, measured, ratio: { to: to.name, values }, target }
}

const RATE_HEADER = [
  'row',
  'calls/s',
  'from - to',
  'p50 ms',
  'CPU µs/call',
  'busy',
  'KB',
  'ratio',
  'from - to',
  'to',
  'target',
  '',
]

export function printRates(lines: readonly RateLine[]): string {
  return layOut(
    RATE_HEADER,
    lines.map(({ row, measured, ratio, target }) => {
      const rate = summary(measured.perSecond)
      const { median: latency } = summary(measured.latency)
      return [
        `${row}  ${measured.name}`,
        rate.median.toFixed(0),
        `${rate.least.toFixed(0)} - ${rate.most.toFixed(0)}`,
        (latency / 1000).toFixed(2),
        summary(measured.cpu).median.toFixed(0),
        `${(summary(measured.busy).median * 100).toFixed(0)} %`,
        (measured.bytes / 1024).toFixed(1),
        ratio?.values.median.toFixed(2) ?? '',
        ratio ? `${ratio.values.least.toFixed(2)} - ${ratio.values.most.toFixed(2)}` : '',
        ratio?.to ?? '',
        target?.text ?? '',
        verdict(target),
      ]
    }),
  )
}

export function printFigures(lines: readonly FigureLine[]): string {
  return layOut(
    ['row', 'median', 'from - to', 'ratio', 'to', 'target', ''],
    lines.map(({ row, what, value, spread, ratio, to, target }) => [
      `${row}  ${what}`,
      value,
      spread,
      ratio,
      to,
      target?.text ?? '',
      verdict(target),
    ]),
  )
}

function verdict(target: Target | undefined): string {
  if (target === undefined) return ''
  return target.met ? 'met' : 'MISSED'
}
