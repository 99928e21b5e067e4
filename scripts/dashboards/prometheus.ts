import { z } from 'zod'

const labelsSchema = z.record(z.string(), z.string())
const sampleSchema = z.tuple([z.number(), z.string()])
const replySchema = z.object({
  status: z.string(),
  error: z.string().optional(),
  data: z
    .object({
      result: z.array(
        z.object({
          metric: labelsSchema,
          values: z.array(sampleSchema).optional(),
          value: sampleSchema.optional(),
        }),
      ),
    })
    .optional(),
})

/** One series: its labels, and what it was at which instant (in seconds since 1970). */
export interface Series {
  readonly labels: Readonly<Record<string, string>>
  readonly points: readonly (readonly [at: number, value: number])[]
}

/** Instants in seconds since 1970. */
export interface Range {
  readonly start: number
  readonly end: number
  readonly step: number
}

/** Asks Prometheus over its HTTP interface. */
export class Prometheus {
  readonly #url: string

  constructor(url: string) {
    this.#url = url
  }

  async range(query: string, { start, end, step }: Range): Promise<readonly Series[]> {
    return this.#ask('query_range', {
      query,
      start: String(start),
      end: String(end),
      step: String(step),
    })
  }

  async at(query: string, time: number): Promise<readonly Series[]> {
    return this.#ask('query', { query, time: String(time) })
  }

  async #ask(what: string, params: Record<string, string>): Promise<readonly Series[]> {
    const address = `${this.#url}/api/v1/${what}?${new URLSearchParams(params)}`
    const { data, error } = replySchema.parse(await (await fetch(address)).json())
    if (data === undefined) throw new Error(`${params['query']}: ${error}`)
    return data.result.map(({ metric, values, value }) => ({
      labels: metric,
      points: (values ?? (value ? [value] : [])).map(([at, text]) => [at, Number(text)] as const),
    }))
  }
}
