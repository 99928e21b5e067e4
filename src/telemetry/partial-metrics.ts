import { Counter, type Registry } from 'prom-client'
import type { Method } from '../protocol/methods.js'
import type { Served } from '../protocol/serve.js'

/** Methods whose answers may be partial. */
const MAY_BE: ReadonlySet<Method> = new Set([
  'memory/recall',
  'memory/timeline',
  'memory/session/list',
  'memory/events',
])

/** Counts partial answers by their method; told as 0 from the start. */
export function createPartialMetrics(registry: Registry): (method: Method) => void {
  const partial = new Counter({
    name: 'a2m_partial_answers_total',
    help: 'Answers in which an upstream that was to be asked is missing.',
    labelNames: ['method'],
    registers: [registry],
  })
  for (const method of MAY_BE) partial.inc({ method }, 0)
  return (method) => partial.inc({ method })
}

/** Tells of every answer that says of itself that it is partial. */
export function withPartialCount(inner: Served, count: (method: Method) => void): Served {
  return {
    refusal: (method, context) => inner.refusal(method, context),
    recognised: (method, params, context) => inner.recognised(method, params, context),
    async call(method, params, context) {
      const result = await inner.call(method, params, context)
      if (MAY_BE.has(method) && isPartial(result)) count(method)
      return result
    },
    close: () => inner.close(),
  }
}

function isPartial(result: object): boolean {
  const { federation } = result as { readonly federation?: { readonly partial?: boolean } }
  return federation?.partial === true
}
