import { type Field, fieldOf, type Panel } from './board.js'
import type { Figures, Line } from './figures.js'
import { asText, NO_DATA } from './markup.js'
import { colorOf, named } from './palette.js'
import type { Range } from './prometheus.js'
import { format } from './units.js'

/** The size of a drawing in pixels, its legend not included. */
export interface Size {
  readonly width: number
  readonly height: number
}

const LEFT = 62
const RIGHT = 10
const TOP = 6
const BOTTOM = 20

/** Lines over time, or areas that stand on one another, with axes and a legend. */
export function drawTimeseries(
  panel: Panel,
  { lines }: Figures,
  { size, range }: { readonly size: Size; readonly range: Range },
): string {
  const shown = lines.filter(({ points }) => points.some(([, value]) => Number.isFinite(value)))
  if (shown.length === 0) return NO_DATA
  const { defaults } = panel.fieldConfig
  const areas = areasOf(shown, defaults)
  const limits = defaults.custom.thresholdsStyle.mode === 'line' ? limitsOf(defaults) : []
  const tops = areas.flatMap((area) => area.map(([, , top]) => top))
  const highest = Math.max(...tops.filter(Number.isFinite))
  const near = limits.filter(({ value }) => value <= highest * 3).map(({ value }) => value)
  const ticks = ticksOf(defaults.min ?? 0, Math.max(highest, ...near), defaults)
  const scale = scaleOf(size, range, ticks)
  const drawn = areas.map((area, index) => {
    const color = colorOf(fieldOf(panel, shown[index]?.name ?? ''), index)
    return drawArea(area, { color, scale, field: defaults })
  })
  const marks = limits.filter(({ value }) => value <= (ticks.at(-1) ?? 0))
  const axes = drawAxes(ticks, { scale, size, range, field: defaults })
  const over = marks.map(({ value, color }) => limitLine(scale.y(value), color, size))
  const picture = `<svg width="${size.width}" height="${size.height}">${axes}${drawn.join('')}${over.join('')}</svg>`
  return picture + legend(panel, shown)
}

/** An instant, and from where to where the area reaches there. */
type Area = readonly (readonly [at: number, bottom: number, top: number])[]

function areasOf(lines: readonly Line[], { custom }: Field): readonly Area[] {
  const stacked = custom.stacking.mode === 'normal'
  const below = new Map<number, number>()
  return lines.map(({ points }) =>
    points.map(([at, raw]) => {
      const value = Number.isFinite(raw) ? raw : stacked ? 0 : Number.NaN
      const bottom = stacked ? (below.get(at) ?? 0) : 0
      below.set(at, bottom + value)
      return [at, bottom, bottom + value] as const
    }),
  )
}

function limitsOf({ thresholds }: Field) {
  return thresholds.steps.flatMap(({ value, color }) => (value === null ? [] : [{ value, color }]))
}

/** Round numbers from the least to over the highest. */
function ticksOf(least: number, highest: number, field: Field): readonly number[] {
  const { max, unit, decimals } = field
  const top = max ?? (Number.isFinite(highest) && highest > least ? highest : least + 1)
  const base =
    unit === 'bytes' ? 1024 ** Math.floor(Math.log(Math.max(top, 1)) / Math.log(1024)) : 1
  const rough = (top - least) / 4 / base
  const power = 10 ** Math.floor(Math.log10(rough))
  const factor = [1, 2, 2.5, 5, 10].find((one) => one * power >= rough) ?? 10
  const step = Math.max(factor * power * base, decimals === 0 ? 1 : 0)
  const count = Math.ceil((top - least) / step - 1e-9)
  return Array.from({ length: count + 1 }, (_, index) => least + index * step)
}

interface Scale {
  readonly x: (at: number) => number
  readonly y: (value: number) => number
}

function scaleOf({ width, height }: Size, { start, end }: Range, ticks: readonly number[]): Scale {
  const least = ticks[0] ?? 0
  const span = (ticks.at(-1) ?? 1) - least
  return {
    x: (at) => LEFT + ((at - start) / (end - start)) * (width - LEFT - RIGHT),
    y: (value) => height - BOTTOM - ((value - least) / span) * (height - TOP - BOTTOM),
  }
}

interface Pen {
  readonly color: string
  readonly scale: Scale
  readonly field: Field
}

function drawArea(area: Area, { color, scale, field }: Pen): string {
  const { fillOpacity, lineInterpolation } = field.custom
  return stretches(area)
    .map((stretch) => {
      const step = lineInterpolation === 'stepAfter'
      const top = path(
        stretch.map(([at, , value]) => [scale.x(at), scale.y(value)]),
        step,
      )
      const bottom = path(stretch.toReversed().map(([at, value]) => [scale.x(at), scale.y(value)]))
      const fill =
        fillOpacity === 0
          ? ''
          : `<path d="M${top}L${bottom}Z" fill="${color}" opacity="${fillOpacity / 100}"/>`
      return `${fill}<path d="M${top}" fill="none" stroke="${color}" stroke-width="1.4"/>`
    })
    .join('')
}

/** Nothing is drawn where there is no value. */
function stretches(area: Area): Area[] {
  const found: (readonly [number, number, number])[][] = [[]]
  for (const point of area) {
    if (Number.isFinite(point[2])) found.at(-1)?.push(point)
    else found.push([])
  }
  return found.filter(({ length }) => length > 0)
}

function path(points: readonly (readonly [number, number])[], step = false): string {
  return points
    .map(([x, y], index) => {
      const before = points[index - 1]
      const corner = step && before !== undefined ? `${x.toFixed(1)} ${before[1].toFixed(1)}L` : ''
      return `${corner}${x.toFixed(1)} ${y.toFixed(1)}`
    })
    .join('L')
}

function limitLine(y: number, color: string, { width }: Size): string {
  return `<line x1="${LEFT}" x2="${width - RIGHT}" y1="${y}" y2="${y}" stroke="${named(color)}" stroke-dasharray="6 4" opacity="0.8"/>`
}

interface Frame {
  readonly scale: Scale
  readonly size: Size
  readonly range: Range
  readonly field: Field
}

function drawAxes(ticks: readonly number[], { scale, size, range, field }: Frame): string {
  const { width, height } = size
  const rows = ticks.map((tick) => {
    const y = scale.y(tick).toFixed(1)
    const text = format(tick, field.unit, field.decimals === 0 ? 0 : undefined)
    return `<line x1="${LEFT}" x2="${width - RIGHT}" y1="${y}" y2="${y}" class="grid"/><text x="${LEFT - 6}" y="${y}" dy="3.5" text-anchor="end">${text}</text>`
  })
  const every = range.end - range.start > 100 ? 30 : 15
  const first = Math.ceil(range.start / every) * every
  const columns: string[] = []
  for (let at = first; at <= range.end; at += every) {
    const x = scale.x(at)
    if (x > width - 30 || x < LEFT + 20) continue
    const text = new Date(at * 1000).toISOString().slice(11, 19)
    columns.push(`<text x="${x.toFixed(1)}" y="${height - 5}" text-anchor="middle">${text}</text>`)
  }
  return rows.join('') + columns.join('')
}

function legend(panel: Panel, lines: readonly Line[]): string {
  const entries = lines.map(({ name }, index) => {
    const color = colorOf(fieldOf(panel, name), index)
    return `<span><i style="background:${color}"></i>${asText(name)}</span>`
  })
  return `<div class="legend">${entries.join('')}</div>`
}
