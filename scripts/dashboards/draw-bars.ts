import type { Panel } from './board.js'
import type { Figures } from './figures.js'
import { asText, NO_DATA } from './markup.js'
import { colorOf, thresholdColor } from './palette.js'
import { format } from './units.js'

/** A bar for each line, as long as its last value. */
export function drawBars(panel: Panel, { lines }: Figures): string {
  const { defaults } = panel.fieldConfig
  const bars = lines
    .map(({ name, points }) => ({ name, value: points.at(-1)?.[1] ?? Number.NaN }))
    .filter(({ value }) => Number.isFinite(value))
  if (bars.length === 0) return NO_DATA
  const top = defaults.max ?? Math.max(...bars.map(({ value }) => value), Number.MIN_VALUE)
  const rows = bars.map(({ name, value }, index) => {
    const byThreshold = defaults.color.mode === 'thresholds'
    const color = byThreshold ? thresholdColor(defaults, value) : colorOf(defaults, index)
    const width = Math.min(100, (value / top) * 100).toFixed(1)
    const text = format(value, defaults.unit, defaults.decimals)
    const bar = `<i style="width:${width}%;background:${color}"></i>`
    return `<tr><td>${asText(name)}</td><td class="bar">${bar}</td><td class="number" style="color:${color}">${text}</td></tr>`
  })
  return `<table class="bars">${rows.join('')}</table>`
}
