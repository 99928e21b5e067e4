import type { Board, Panel } from './board.js'
import { drawBars } from './draw-bars.js'
import { drawStat } from './draw-stat.js'
import { drawTable } from './draw-table.js'
import { drawTimeseries } from './draw-timeseries.js'
import type { Figures } from './figures.js'
import { asText, NO_DATA } from './markup.js'
import type { Range } from './prometheus.js'

/** A page and its size in pixels. */
export interface Page {
  readonly html: string
  readonly width: number
  readonly height: number
  /** Titles of panels that have nothing to show. */
  readonly empty: readonly string[]
}

const WIDTH = 1320
const COLUMN = WIDTH / 24
const ROW = 26
const GAP = 6
const HEAD = 46
/** What a panel needs besides its drawing. */
const TITLE = 26
const LINE = 17
const LEGEND_LEFT = 58

/** Puts a whole dashboard on one page. */
export function pageOf(board: Board, figures: readonly Figures[], range: Range): Page {
  const rows = Math.max(...board.panels.map(({ gridPos }) => gridPos.y + gridPos.h))
  const height = HEAD + rows * ROW + GAP
  const panels = board.panels.map((panel, index) =>
    framed(panel, figures[index] ?? { lines: [], rows: [] }, range),
  )
  const span = `${clock(range.start)} – ${clock(range.end)} UTC`
  const head = `<header><b>${asText(board.title)}</b><span>${span}</span></header>`
  const html = `<!doctype html><meta charset="utf-8"><style>${STYLE}</style>${head}${panels.join('')}`
  const empty = board.panels.flatMap(({ title }, index) =>
    panels[index]?.includes(NO_DATA) ? [title] : [],
  )
  return { html, width: WIDTH, height, empty }
}

function clock(at: number): string {
  return new Date(at * 1000).toISOString().slice(11, 19)
}

function framed(panel: Panel, figures: Figures, range: Range): string {
  const { x, y, w, h } = panel.gridPos
  const width = w * COLUMN - GAP
  const height = h * ROW - GAP
  const place = `left:${x * COLUMN + GAP / 2}px;top:${HEAD + y * ROW}px;width:${width}px;height:${height}px`
  return `<section style="${place}"><h2>${asText(panel.title)}</h2>${drawn(panel, figures, { width, height, range })}</section>`
}

interface Room {
  readonly width: number
  readonly height: number
  readonly range: Range
}

function drawn(panel: Panel, figures: Figures, { width, height, range }: Room): string {
  if (panel.type === 'stat') return drawStat(panel, figures)
  if (panel.type === 'bargauge') return drawBars(panel, figures)
  if (panel.type === 'table') return drawTable(panel, figures)
  const room = height - TITLE - legendHeight(figures, width) - 8
  return drawTimeseries(panel, figures, { size: { width: width - 8, height: room }, range })
}

/** As names are about as wide as this, a legend takes so many lines. */
function legendHeight({ lines }: Figures, width: number): number {
  const names = lines.map(({ name }) => name.length * 6.7 + 32)
  let used = 0
  let count = 1
  for (const name of names) {
    if (used + name > width - LEGEND_LEFT - 12) {
      count++
      used = 0
    }
    used += name
  }
  return count * LINE
}

const STYLE = `
* { box-sizing: border-box; margin: 0; padding: 0 }
body { background: #111217; color: #ccccdc; font: 12px 'DejaVu Sans', sans-serif; position: relative }
header { height: ${HEAD}px; padding: 14px 12px; font-size: 15px; display: flex; justify-content: space-between }
header span { color: #8e8e9c; font-size: 12px }
section { position: absolute; background: #181b1f; border: 1px solid #25272d; border-radius: 3px; padding: 6px 8px 0 4px; overflow: hidden }
h2 { font-size: 12px; font-weight: 600; height: ${TITLE - 6}px; padding-left: 6px; white-space: nowrap; overflow: hidden }
svg { display: block }
svg text { fill: #9a9aa8; font-size: 10.5px }
.grid { stroke: #2a2d34; stroke-width: 1 }
.legend { padding: 0 0 0 ${LEGEND_LEFT}px; line-height: ${LINE}px; font-size: 10.5px }
.legend span { margin-right: 12px; white-space: nowrap; display: inline-block }
.legend i { display: inline-block; width: 12px; height: 3px; margin-right: 5px; vertical-align: middle; border-radius: 1px }
.stat { text-align: center; font-size: 25px; font-weight: 600; padding-top: 6px; position: relative }
.spark { position: absolute; left: 0; bottom: 0; width: 100%; height: 34px }
table { border-collapse: collapse; width: calc(100% - 12px); margin: 2px 6px }
.rows th { text-align: left; font-weight: 600; color: #8ab8ff; padding: 4px 8px; border-bottom: 1px solid #2a2d34 }
.rows td { padding: 5px 8px; border-bottom: 1px solid #22252b; white-space: nowrap }
.bars td { padding: 3px 6px 3px 0; white-space: nowrap; font-size: 11px; width: 1px }
.bars .bar { width: auto; padding-right: 10px }
.bars .bar i { display: block; height: 11px; border-radius: 2px; min-width: 2px }
.bars .number { text-align: right }
.nothing { color: #8e8e9c; text-align: center; padding-top: 40px }
`
