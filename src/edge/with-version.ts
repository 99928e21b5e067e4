import { A2mError } from '../protocol/errors.js'
import type { Context } from '../protocol/memory.js'
import type { Method, ParamsOf, ResultOf } from '../protocol/methods.js'
import type { Served } from '../protocol/serve.js'
import { compatible } from '../protocol/versions.js'

/** The name that a memory is served under, and every name that its server speaks. */
export interface Naming {
  readonly name: string
  readonly supported: readonly string[]
}

/**
 * Serves a memory under a name of the configuration's: its description says that name, and asking it for another is refused
 * (§4.1), with all that the header could have asked for.
 */
export function withVersion(inner: Served, naming: Naming): Served {
  return {
    refusal: (method, context) => inner.refusal(method, context),
    recognised: (method, params, context) => inner.recognised(method, params, context),
    call<M extends Method>(method: M, params: ParamsOf<M>, context: Context) {
      const handler = HANDLERS[method]
      return handler === undefined
        ? inner.call(method, params, context)
        : handler({ inner, naming, context }, params)
    },
    close: () => inner.close(),
  }
}

interface Call {
  readonly inner: Served
  readonly naming: Naming
  readonly context: Context
}

type Handlers = {
  readonly [M in Method]?: (call: Call, params: ParamsOf<M>) => Promise<ResultOf<M>>
}

const HANDLERS: Handlers = {
  async 'memory/describe'({ inner, naming, context }, { protocol, ...params }) {
    if (protocol !== undefined) refuseOther(protocol, naming)
    const description = await inner.call('memory/describe', params, context)
    return { ...description, protocol: naming.name }
  },
}

function refuseOther(protocol: string, { name, supported }: Naming): void {
  if (protocol === name || compatible(protocol, name)) return
  const others = supported.filter((one) => one !== name).join(' or ')
  const hint =
    others === ''
      ? ', and no other version is served here'
      : `; to reach ${others}, name it in the header A2M-Protocol-Version`
  throw new A2mError('PROTOCOL_NOT_SUPPORTED', `this is ${name}${hint}`, { supported })
}
