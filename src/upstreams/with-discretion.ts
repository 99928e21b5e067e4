import { A2mError } from '../protocol/errors.js'
import type { Memory } from '../protocol/memory.js'

/**
 * Takes out of an upstream's errors what `scrub` takes out of a text: they may be told to callers, and an upstream may repeat
 * the credential that it was shown. What an error says in `data` is told to nobody and goes.
 */
export function withDiscretion(inner: Memory, scrub: (text: string) => string): Memory {
  return {
    async call(method, params, context) {
      try {
        return await inner.call(method, params, context)
      } catch (thrown) {
        throw thrown instanceof A2mError ? new A2mError(thrown.code, scrub(thrown.message)) : thrown
      }
    },
    close: () => inner.close(),
  }
}
