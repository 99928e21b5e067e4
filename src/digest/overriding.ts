import type { Context, Memory } from '../protocol/memory.js'
import type { Method, ParamsOf, ResultOf } from '../protocol/methods.js'

/** Answers to some methods. */
export type Overrides = {
  readonly [M in Method]?: (params: ParamsOf<M>, context: Context) => Promise<ResultOf<M>>
}

/** A memory that answers some methods itself and leaves the others to the one within. */
export function overriding(inner: Memory, own: Overrides): Memory {
  return {
    call: (method, params, context) =>
      own[method]?.(params, context) ?? inner.call(method, params, context),
    close: () => inner.close(),
  }
}
