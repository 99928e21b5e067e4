import type { Field } from './board.js'

/** Colours by Grafana's names, in its dark theme. */
const NAMED: Readonly<Record<string, string>> = {
  green: '#73bf69',
  yellow: '#f2cc0c',
  orange: '#ff9830',
  red: '#f2495c',
  blue: '#5794f2',
  purple: '#b877d9',
}

export const PALETTE = [
  '#73bf69',
  '#f2cc0c',
  '#8ab8ff',
  '#ff9830',
  '#f2495c',
  '#5794f2',
  '#b877d9',
  '#37872d',
  '#e0b400',
  '#1f60c4',
  '#c4162a',
  '#8f3bb8',
] as const

export function named(color: string): string {
  return NAMED[color] ?? color
}

/** The colour of the nth line of a panel, unless its name has one of its own. */
export function colorOf({ color }: Field, index: number): string {
  if (color.mode === 'fixed') return named(color.fixedColor ?? '')
  return PALETTE[index % PALETTE.length] ?? ''
}

/** The colour of the highest threshold that a value reaches. */
export function thresholdColor({ thresholds }: Field, value: number): string {
  const reached = thresholds.steps.filter((step) => step.value === null || value >= step.value)
  return named(reached.at(-1)?.color ?? 'green')
}
