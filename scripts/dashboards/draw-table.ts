import { fieldOf, layoutOf, mappedColor, type Panel } from './board.js'
import type { Figures } from './figures.js'
import { asText, NO_DATA } from './markup.js'
import { named, thresholdColor } from './palette.js'
import { format } from './units.js'

export function drawTable(panel: Panel, { rows }: Figures): string {
  if (rows.length === 0) return NO_DATA
  const headers = layoutOf(panel).columns.map(({ header }) => header)
  const head = headers.map((header) => `<th>${asText(header)}</th>`).join('')
  const body = rows.map(
    (row) => `<tr>${headers.map((header) => cell(panel, header, row.get(header))).join('')}</tr>`,
  )
  return `<table class="rows"><tr>${head}</tr>${body.join('')}</table>`
}

function cell(panel: Panel, header: string, value: string | number | undefined): string {
  if (typeof value !== 'number') return textCell(panel, header, value ?? '')
  const field = fieldOf(panel, header)
  const colored = field.thresholds.steps.length > 1
  const color = colored ? ` style="color:${thresholdColor(field, value)}"` : ''
  return `<td${color}>${format(value, field.unit, field.decimals)}</td>`
}

function textCell(panel: Panel, header: string, text: string): string {
  const color = mappedColor(panel, header, text)
  const style = color === undefined ? '' : ` style="color:${named(color)}"`
  return `<td${style}>${asText(text)}</td>`
}
