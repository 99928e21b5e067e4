import type { Config } from '../config/config.js'
import { DEFAULT_FEDERATION } from '../config/versions.js'
import { type Pushing, withPush } from '../edge/with-push.js'
import type { Federation } from '../federation/federation.js'
import { withMetering } from '../metering/with-metering.js'
import type { Served } from '../protocol/serve.js'
import { withPartialCount } from '../telemetry/partial-metrics.js'
import { withCrashLog } from '../telemetry/with-crash-log.js'
import type { Closers } from './closers.js'
import type { AppDeps } from './deps.js'
import { withNames } from './naming.js'
import type { Shared } from './shared.js'
import { openStock } from './stock.js'

/** One federation, and what is wrapped around each alike. */
export interface ServingParts {
  readonly name: string
  /** The configuration as if this federation were the only one. */
  readonly config: Config
  readonly federation: Federation
  readonly deps: AppDeps
  readonly shared: Shared
  readonly closers: Closers
}

/** A federation as edges serve it: what happens around every call of it, the innermost first. */
export async function serving(parts: ServingParts): Promise<Pushing> {
  const { name, federation, deps, shared } = parts
  const { changes } = federation
  const counted = withPartialCount(federation, shared.metrics.partial)
  const pushing = withPush(withCrashLog(counted, deps.log), { changes, clock: deps.clock })
  return withNames(await audited(await limited(metered(pushing, parts), parts), parts), name)
}

/** Limits, too, go by what is measured here. */
function metered(pushing: Pushing, parts: ServingParts): Pushing {
  const { federation, shared } = parts
  const { metering, limiter } = shared
  if (metering === undefined && limiter === undefined) return pushing
  const stock = metering && openStock({ ...parts, metering })
  const measuring = withMetering(pushing, {
    tiers: () => federation.report().layout.tiers,
    ...(metering && { refusal: () => metering.refusal() }),
    ...(stock && { done: (method, params, owner) => stock.done(method, params, owner) }),
  })
  return around(pushing, measuring)
}

/** Limits stand outside of what measures, which tells them what a call has used. */
async function limited(pushing: Pushing, { federation, shared }: ServingParts): Promise<Pushing> {
  const { limiter, federations } = shared
  if (limiter === undefined) return pushing
  const { limitsOf } = await import('./quotas.js')
  const { withQuotas } = await import('../metering/with-quotas.js')
  return around(pushing, withQuotas(pushing, limitsOf(federation, federations, limiter)))
}

/** The log is told of what callers see, so that it stands around everything else. */
async function audited(pushing: Pushing, { name, shared }: ServingParts): Promise<Pushing> {
  if (shared.auditing === undefined) return pushing
  const { withAudit } = await import('../telemetry/with-audit.js')
  const federation = name === DEFAULT_FEDERATION ? undefined : name
  return around(pushing, withAudit(pushing, { ...shared.auditing.calls, federation }))
}

/** What is wrapped around calls changes nothing of what is pushed. */
function around(pushing: Pushing, served: Served): Pushing {
  return { ...served, flushed: (connection) => pushing.flushed(connection) }
}
