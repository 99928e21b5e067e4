import { Drain } from './drain.js'
import { addHealthRoutes, type Readiness } from './health.js'
import { createListener, type HttpListener } from './listener.js'
import { addUsageRoutes, type UsageSource } from './usage.js'

/** What the operators' listener shows. */
export interface AdminEdgeOptions {
  readonly allowedOrigins: readonly string[]
  /** The metrics in Prometheus' text format, and the content type that says so. */
  readonly metrics: { readonly contentType: string; readonly read: () => Promise<string> }
  readonly ready: () => Readiness
  /** The state of every upstream, as plain JSON without secrets. */
  readonly upstreams: () => unknown
  /** Undefined where usage is not metered. */
  readonly usage?: UsageSource | undefined
}

/** In ms; nobody sends this listener much. */
const PATIENCE = { headersMs: 5_000, requestMs: 10_000, silenceMs: 30_000 }

/** The face for operators, on a listener of its own: metrics, health, upstreams. */
export function createAdminEdge(options: AdminEdgeOptions): HttpListener {
  const drain = new Drain()
  const listener = createListener({ guard: options, patience: PATIENCE, drain, refused: () => {} })
  const { app } = listener
  addHealthRoutes(app, options.ready, drain)
  app.get('/metrics', async (_request, reply) => {
    reply.type(options.metrics.contentType)
    return options.metrics.read()
  })
  app.get('/upstreams', (_request, reply) => reply.send(options.upstreams()))
  addUsageRoutes(app, options.usage)
  return listener
}
