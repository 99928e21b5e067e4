import { SPECS } from '../protocol/methods.js'
import type { Served } from '../protocol/serve.js'

/** Wakes after each write that passed through, however it ended: for a memory whose only writer is here. */
export function withWake(inner: Served, wake: () => void): Served {
  return {
    refusal: (method, context) => inner.refusal(method, context),
    recognised: (method, params, context) => inner.recognised(method, params, context),
    async call(method, params, context) {
      try {
        return await inner.call(method, params, context)
      } finally {
        if (SPECS[method].kind === 'write') wake()
      }
    },
    close: () => inner.close(),
  }
}
