import { onTestFinished } from 'vitest'
import { A2mError } from '../../../src/protocol/errors.js'
import type { ExtensionParams } from '../../../src/protocol/extension.js'
import type { Memory } from '../../../src/protocol/memory.js'
import type { Method, ParamsOf, ResultOf } from '../../../src/protocol/methods.js'
import type { Entry, MemoryRecord } from '../../../src/protocol/records.js'
import type { StoreOptions } from '../../../src/stores/options.js'
import { openStore } from '../../../src/stores/store.js'
import { contextWithin } from '../../support/contexts.js'

export const START = Date.UTC(2026, 0, 1)

/** What a record has that was written without a salience and never used. */
export const UNUSED = { salience: 1, access_count: 0 } as const

/** A store with a clock that moves when told and ids that count. */
export class OpenStore {
  readonly memory: Memory
  now = START
  #lastId = 0

  constructor(options: Partial<StoreOptions> = {}) {
    const clock = { now: () => this.now, monotonic: () => this.now }
    const newId = (): string => `new-${++this.#lastId}`
    this.memory = openStore({ path: ':memory:', ...options }, { clock, newId })
    onTestFinished(() => this.memory.close())
  }

  call<M extends Method>(method: M, params: ParamsOf<M>): Promise<ResultOf<M>> {
    return this.memory.call(method, params, contextWithin(1000))
  }

  /** Each entry a millisecond after the one before. */
  async write(...entries: readonly (Entry | string)[]): Promise<readonly string[]> {
    const ids: string[] = []
    for (const entry of entries) {
      this.now++
      const records = [typeof entry === 'string' ? { content: entry } : entry]
      ids.push(...(await this.call('memory/remember', { records })).ids)
    }
    return ids
  }

  async recall(params: ParamsOf<'memory/recall'> | string): Promise<readonly MemoryRecord[]> {
    const asked = typeof params === 'string' ? { query: params } : params
    return (await this.call('memory/recall', asked)).records
  }

  async timeline(params: ParamsOf<'memory/timeline'> = {}): Promise<readonly MemoryRecord[]> {
    return (await this.call('memory/timeline', params)).records
  }

  async counts(owned: { owner?: string; 'a2m-gateway'?: ExtensionParams } = {}) {
    const { tiers = [] } = await this.call('memory/describe', owned)
    return Object.fromEntries(tiers.map(({ name, count }) => [name, count]))
  }
}

export const contents = (records: readonly MemoryRecord[]): readonly string[] =>
  records.map(({ content }) => content)

export const idsOf = (records: readonly MemoryRecord[]): readonly string[] =>
  records.map(({ id }) => id)

/** The code of the A2M error that a promise rejects with. */
export async function codeOf(call: Promise<unknown>): Promise<number | undefined> {
  try {
    await call
    return undefined
  } catch (thrown) {
    if (thrown instanceof A2mError) return thrown.code
    throw thrown
  }
}
