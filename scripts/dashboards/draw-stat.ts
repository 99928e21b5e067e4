import type { Panel } from './board.js'
import type { Figures } from './figures.js'
import { NO_DATA } from './markup.js'
import { thresholdColor } from './palette.js'
import { format } from './units.js'

/** One number, with how it came about behind it. */
export function drawStat(panel: Panel, { lines }: Figures): string {
  const { defaults } = panel.fieldConfig
  const points = (lines[0]?.points ?? []).filter(([, value]) => Number.isFinite(value))
  const value = points.at(-1)?.[1]
  if (value === undefined) return NO_DATA
  const color = thresholdColor(defaults, value)
  const text = format(value, defaults.unit, defaults.decimals)
  const values = points.map((point) => point[1])
  return `<div class="stat" style="color:${color}">${text}</div>${spark(values, color)}`
}

function spark(values: readonly number[], color: string): string {
  if (values.length < 2) return ''
  const top = Math.max(...values, Number.MIN_VALUE)
  const points = values.map(
    (value, index) =>
      `${((index / (values.length - 1)) * 100).toFixed(1)},${(30 - (value / top) * 28).toFixed(1)}`,
  )
  const area = `0,30 ${points.join(' ')} 100,30`
  return `<svg class="spark" viewBox="0 0 100 30" preserveAspectRatio="none"><polygon points="${area}" fill="${color}" opacity="0.18"/><polyline points="${points.join(' ')}" fill="none" stroke="${color}" stroke-width="1" vector-effect="non-scaling-stroke"/></svg>`
}
