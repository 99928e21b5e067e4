import { checkParams } from '../../src/protocol/checks.js'
import type { Context } from '../../src/protocol/memory.js'
import type { MemoryRecord } from '../../src/protocol/records.js'
import { openFederation, type TestFederation, tierConfig, type Upstreams } from './federation.js'
import { anyContext } from './federation-contexts.js'
import { PlainMemory, type PlainOptions } from './plain-memory.js'

/** A store of others that keeps keys and owners. */
export const KEYED: PlainOptions = { capabilities: ['core', 'scopes', 'keys'] }

/** A memory of others with keys that serves one tier of its own name. */
export function keyedMemory(over: PlainOptions = {}): PlainMemory {
  return new PlainMemory({ ...KEYED, ...over })
}

/** A federation in which each upstream serves the tier of its name, the first being the default. */
export function overTiers(
  upstreams: Upstreams,
  setup: Partial<Parameters<typeof openFederation>[0]> = {},
): Promise<TestFederation> {
  const tiers = Object.keys(upstreams).map((name) => tierConfig(name, name))
  return openFederation({ upstreams, tiers, ...setup })
}

/** What callers do to keys, in few words. */
export function caller({ federation }: TestFederation, contextFor: () => Context = anyContext) {
  const { call } = federation
  return {
    async remember(...records: readonly object[]): Promise<string[]> {
      const params = checkParams('memory/remember', { records })
      return (await call('memory/remember', params, contextFor())).ids
    },
    async fetch(key: string, over: object = {}): Promise<MemoryRecord | null> {
      const params = checkParams('memory/fetch', { key, ...over })
      return (await call('memory/fetch', params, contextFor())).record
    },
    async timeline(params: object = {}): Promise<MemoryRecord[]> {
      const checked = checkParams('memory/timeline', params)
      return (await call('memory/timeline', checked, contextFor())).records
    },
    async recall(params: object = {}): Promise<MemoryRecord[]> {
      const checked = checkParams('memory/recall', params)
      return (await call('memory/recall', checked, contextFor())).records
    },
    async forget(params: object): Promise<number> {
      const checked = checkParams('memory/forget', params)
      return (await call('memory/forget', checked, contextFor())).forgotten
    },
    async promote(params: object): Promise<number> {
      const checked = checkParams('memory/promote', params)
      return (await call('memory/promote', checked, contextFor())).promoted
    },
  }
}

/** What an error says, for `rejects`. */
export async function errorOf(task: Promise<unknown>): Promise<unknown> {
  return task.then(
    () => Promise.reject(new Error('it was no error')),
    (error: unknown) => error,
  )
}
