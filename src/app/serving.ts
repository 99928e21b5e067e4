import type { Config } from '../config/config.js'
import { DEFAULT_FEDERATION } from '../config/versions.js'
import { type Pushing, withPush } from '../edge/with-push.js'
import type { Federation } from '../federation/federation.js'
import { type QuotaOptions, withQuotas } from '../metering/with-quotas.js'
import { withPartialCount } from '../telemetry/partial-metrics.js'
import { withAudit } from '../telemetry/with-audit.js'
import { withCrashLog } from '../telemetry/with-crash-log.js'
import type { Auditing } from './auditing.js'
import type { AppDeps } from './deps.js'
import { withNames } from './naming.js'
import { limitsOf } from './quotas.js'
import type { Shared } from './shared.js'

/** One federation, and what is wrapped around each alike. */
export interface ServingParts {
  readonly name: string
  /** The configuration as if this federation were the only one. */
  readonly config: Config
  readonly federation: Federation
  readonly deps: AppDeps
  readonly shared: Shared
}

/** A federation as edges serve it: what happens around every call of it, the innermost first. */
export function serving({ name, federation, deps, shared }: ServingParts): Pushing {
  const { changes } = federation
  const counted = withPartialCount(federation, shared.metrics.partial)
  const pushing = withPush(withCrashLog(counted, deps.log), { changes, clock: deps.clock })
  const { auditing, limiter } = shared
  const limited = limiter === undefined ? pushing : within(pushing, limitsOf(federation, limiter))
  return withNames(auditing === undefined ? limited : audited(limited, auditing, name), name)
}

/** Limits stand outside of what measures, which tells them what a call has used. */
function within(pushing: Pushing, limits: QuotaOptions): Pushing {
  const around = withQuotas(pushing, limits)
  return { ...around, flushed: (connection) => pushing.flushed(connection) }
}

/** The log is told of what callers see, so that it stands around everything else. */
function audited(pushing: Pushing, { calls }: Auditing, name: string): Pushing {
  const federation = name === DEFAULT_FEDERATION ? undefined : name
  const around = withAudit(pushing, { ...calls, federation })
  return { ...around, flushed: (connection) => pushing.flushed(connection) }
}
