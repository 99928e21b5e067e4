import type { Memory } from '../../src/protocol/memory.js'
import type { Method, ParamsOf, ResultOf } from '../../src/protocol/methods.js'

/** Goes on with a call as it should be, with these params. */
export type Honest<M extends Method> = (params: ParamsOf<M>) => Promise<ResultOf<M>>

/** What is done in place of some methods. */
export type Lie = {
  readonly [M in Method]?: (
    params: ParamsOf<M>,
    honest: Honest<M>,
    memory: Memory['call'],
    context: Parameters<Memory['call']>[2],
  ) => Promise<ResultOf<M>>
}

/** A memory that is as it says, but for one lie. */
export function liar(inner: Memory, lie: Lie): Memory {
  return {
    call<M extends Method>(
      method: M,
      params: ParamsOf<M>,
      context: Parameters<Memory['call']>[2],
    ): Promise<ResultOf<M>> {
      const honest = (honestly: ParamsOf<M>) => inner.call(method, honestly, context)
      return lie[method]?.(params, honest, inner.call, context) ?? honest(params)
    },
    close: () => inner.close(),
  }
}
