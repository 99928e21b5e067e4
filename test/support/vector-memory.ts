import { A2mError } from '../../src/protocol/errors.js'
import type { Context, Memory } from '../../src/protocol/memory.js'
import type { Description, Method, ParamsOf, ResultOf } from '../../src/protocol/methods.js'
import type { MemoryRecord } from '../../src/protocol/records.js'
import { COMPARISONS, type Metric } from '../../src/stores/metric.js'
import { PlainMemory, type PlainOptions } from './plain-memory.js'

export interface VectorOptions extends PlainOptions {
  readonly embeddings?: Partial<NonNullable<Description['embeddings']>>
  /** Fails or delays a write. */
  readonly onWrite?: () => Promise<void>
}

/** A small store as others might write one that keeps vectors, without our extension. */
export class VectorMemory implements Memory {
  readonly plain: PlainMemory
  /** The params of every recall that it was asked, in order. */
  readonly recalls: ParamsOf<'memory/recall'>[] = []
  readonly #options: VectorOptions
  dimensions: number | null

  constructor(options: VectorOptions = {}) {
    const { capabilities = ['core', 'embeddings'] } = options
    this.#options = options
    this.plain = new PlainMemory({ ...options, capabilities })
    this.dimensions = options.embeddings?.dimensions ?? null
  }

  async call<M extends Method>(
    method: M,
    params: ParamsOf<M>,
    context: Context,
  ): Promise<ResultOf<M>> {
    const handler = this.#handlers[method]
    return handler === undefined ? this.plain.call(method, params) : handler(params, context)
  }

  async close(): Promise<void> {}

  readonly #handlers: {
    readonly [M in Method]?: (params: ParamsOf<M>, context: Context) => Promise<ResultOf<M>>
  } = {
    'memory/describe': async (params) => {
      const description = await this.plain.call('memory/describe', params)
      const { metric = 'cosine', ...told } = this.#options.embeddings ?? {}
      const embeddings = { metrics: [metric], ...told, metric, dimensions: this.dimensions }
      return { ...description, embeddings }
    },
    'memory/remember': async (params) => {
      if (params.records.length > 0) await this.#options.onWrite?.()
      for (const { embedding } of params.records) this.#hold(embedding)
      return this.plain.call('memory/remember', params)
    },
    'memory/recall': (params) => {
      this.recalls.push(params)
      return this.#recall(params)
    },
    'memory/timeline': async (params) => {
      const { records } = await this.plain.call('memory/timeline', params)
      return { records: records.map((record) => shown(record, params)) }
    },
  }

  #hold(vector: readonly number[] | undefined): void {
    if (vector === undefined) return
    this.dimensions ??= vector.length
    if (vector.length !== this.dimensions) throw new A2mError('EMBEDDING_MISMATCH', 'no')
  }

  async #recall(params: ParamsOf<'memory/recall'>): Promise<ResultOf<'memory/recall'>> {
    const { embedding, limit = 8 } = params
    if (embedding === undefined || params.query) {
      const { records } = await this.plain.call('memory/recall', params)
      return { records: records.map((record) => shown(record, params)) }
    }
    const { records } = await this.plain.call('memory/recall', { ...params, limit: 0 })
    const { metric = 'cosine' } = this.#options.embeddings ?? {}
    const near = nearest(records, embedding, metric as Metric)
    const most = limit === 0 ? near.length : limit
    return { records: near.slice(0, most).map((record) => shown(record, params)) }
  }
}

/** Records with a vector, the most similar first, by looking at every one. */
export function nearest(
  records: readonly MemoryRecord[],
  vector: readonly number[],
  metric: Metric,
): MemoryRecord[] {
  const comparison = COMPARISONS[metric]
  const query = comparison.prepare(vector)
  const compared = records.flatMap((record) => {
    const { embedding } = record
    if (embedding === undefined) return []
    return [{ record, near: comparison.similarity(query, comparison.prepare(embedding), 0) }]
  })
  const ordered = compared.sort((a, b) => b.near - a.near)
  return ordered.map(({ record }, place) => ({ ...record, score: 1 / (place + 1) }))
}

function shown(
  { embedding, ...record }: MemoryRecord,
  { embeddings }: { readonly embeddings?: boolean | undefined },
): MemoryRecord {
  return embeddings && embedding ? { ...record, embedding } : record
}
