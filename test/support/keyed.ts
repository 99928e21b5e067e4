import { checkParams } from '../../src/protocol/checks.js'
import { Fault } from '../../src/protocol/errors.js'
import type { Context, Memory } from '../../src/protocol/memory.js'
import type { Method, ParamsOf, ResultOf } from '../../src/protocol/methods.js'
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

type Around = <M extends Method>(
  method: M,
  params: ParamsOf<M>,
  next: () => Promise<ResultOf<M>>,
) => Promise<ResultOf<M>>

/** A memory that stands between; a test decides what becomes of a call. */
export class Between implements Memory {
  around: Around = (_method, _params, next) => next()
  readonly #inner: Memory

  constructor(inner: Memory) {
    this.#inner = inner
  }

  call<M extends Method>(method: M, params: ParamsOf<M>, context: Context): Promise<ResultOf<M>> {
    return this.around(method, params, () => this.#inner.call(method, params, context))
  }

  close(): Promise<void> {
    return this.#inner.close()
  }
}

/** Does what is asked and loses the answer, for the methods named. */
export function losing(...methods: readonly Method[]): Around {
  return async (method, _params, next) => {
    const result = await next()
    if (methods.includes(method)) throw new Fault('cut', 'the answer was lost')
    return result
  }
}

/** Fails before anything is done, for the methods named. */
export function failing(error: Error, ...methods: readonly Method[]): Around {
  return (method, _params, next) => (methods.includes(method) ? Promise.reject(error) : next())
}
