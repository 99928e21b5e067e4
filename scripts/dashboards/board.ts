import { readFileSync } from 'node:fs'
import { z } from 'zod'

const stepSchema = z.object({ color: z.string(), value: z.number().nullable() })
const thresholdsSchema = z.object({ steps: z.array(stepSchema) })
const colorSchema = z.object({ mode: z.string(), fixedColor: z.string().optional() })
const mappingSchema = z.object({
  options: z.record(z.string(), z.object({ color: z.string(), text: z.string() })),
})

const defaultsSchema = z.object({
  unit: z.string().default('short'),
  min: z.number().optional(),
  max: z.number().optional(),
  decimals: z.number().optional(),
  color: colorSchema.default({ mode: 'palette-classic' }),
  thresholds: thresholdsSchema.default({ steps: [] }),
  custom: z
    .object({
      fillOpacity: z.number().default(0),
      lineInterpolation: z.string().default('linear'),
      stacking: z.object({ mode: z.string() }).default({ mode: 'none' }),
      thresholdsStyle: z.object({ mode: z.string() }).default({ mode: 'off' }),
    })
    .prefault({}),
})
const overrideSchema = z.object({
  matcher: z.object({ id: z.literal('byName'), options: z.string() }),
  properties: z.array(z.object({ id: z.string(), value: z.unknown() })),
})
const targetSchema = z.object({
  refId: z.string(),
  expr: z.string(),
  legendFormat: z.string().default(''),
  instant: z.boolean().default(false),
})
const organizeSchema = z.object({
  renameByName: z.record(z.string(), z.string()),
  indexByName: z.record(z.string(), z.number()),
})

const panelSchema = z.object({
  type: z.enum(['timeseries', 'stat', 'table', 'bargauge']),
  title: z.string(),
  gridPos: z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
  fieldConfig: z.object({ defaults: defaultsSchema, overrides: z.array(overrideSchema) }),
  transformations: z.array(z.object({ id: z.string(), options: z.unknown() })).default([]),
  targets: z.array(targetSchema),
})
const boardSchema = z.object({ title: z.string(), panels: z.array(panelSchema) })

/** What of a Grafana dashboard is drawn here. */
export type Board = z.output<typeof boardSchema>
export type Panel = z.output<typeof panelSchema>
export type Target = z.output<typeof targetSchema>
export type Field = z.output<typeof defaultsSchema>

export function readBoard(path: string): Board {
  return boardSchema.parse(JSON.parse(readFileSync(path, 'utf8')))
}

/** Settings of one column or series: those of the panel, and what is set for its name alone. */
export function fieldOf({ fieldConfig }: Panel, name: string): Field {
  const own = fieldConfig.overrides.filter(({ matcher }) => matcher.options === name)
  const set = Object.fromEntries(
    own.flatMap(({ properties }) => properties.map(({ id, value }) => [id, value])),
  )
  return defaultsSchema.parse({ ...fieldConfig.defaults, ...set })
}

/** The colour of a text that is mapped to one, such as the name of a state. */
export function mappedColor(panel: Panel, column: string, text: string): string | undefined {
  for (const { matcher, properties } of panel.fieldConfig.overrides) {
    if (matcher.options !== column) continue
    const found = properties.find(({ id }) => id === 'mappings')
    const [mapping] = z.array(mappingSchema).parse(found?.value ?? [])
    return mapping?.options[text]?.color
  }
  return undefined
}

/** How a table is put together: by which label its parts are joined, and its columns from left to right. */
export interface Layout {
  readonly by: string
  readonly columns: readonly { readonly source: string; readonly header: string }[]
}

export function layoutOf({ title, transformations }: Panel): Layout {
  const join = transformations.find(({ id }) => id === 'joinByField')
  const organize = transformations.find(({ id }) => id === 'organize')
  const { byField } = z.object({ byField: z.string() }).parse(join?.options)
  const { renameByName, indexByName } = organizeSchema.parse(organize?.options)
  const sources = Object.keys(renameByName).sort(
    (a, b) => (indexByName[a] ?? 0) - (indexByName[b] ?? 0),
  )
  if (sources.length === 0) throw new Error(`${title}: a table without columns`)
  return {
    by: byField,
    columns: sources.map((source) => ({ source, header: renameByName[source] ?? source })),
  }
}
