import { A2mError, Fault } from '../protocol/errors.js'
import type { Served } from '../protocol/serve.js'
import type { Log } from './logs.js'

/** Logs what a caller is told of only as an internal error: anything thrown that is neither an `A2mError` nor a `Fault`. */
export function withCrashLog(inner: Served, log: Log): Served {
  return {
    refusal: (method, context) => inner.refusal(method, context),
    recognised: (method, params, context) => inner.recognised(method, params, context),
    async call(method, params, context) {
      try {
        return await inner.call(method, params, context)
      } catch (thrown) {
        if (!(thrown instanceof A2mError || thrown instanceof Fault)) {
          log.error({ err: thrown, method, trace: context.trace }, 'a call broke')
        }
        throw thrown
      }
    },
    close: () => inner.close(),
  }
}
