import type { Config } from '../config/config.js'
import { type Pushing, withPush } from '../edge/with-push.js'
import type { Federation } from '../federation/federation.js'
import { withAudit } from '../telemetry/with-audit.js'
import { withCrashLog } from '../telemetry/with-crash-log.js'
import type { Auditing } from './auditing.js'
import type { AppDeps } from './deps.js'

/** One federation, and what is wrapped around each alike. */
export interface ServingParts {
  readonly config: Config
  readonly federation: Federation
  readonly deps: AppDeps
  /** Undefined where no audit log is kept. */
  readonly auditing: Auditing | undefined
}

/** A federation as edges serve it: what happens around every call of it, the innermost first. */
export function serving({ federation, deps, auditing }: ServingParts): Pushing {
  const { changes } = federation
  const pushing = withPush(withCrashLog(federation, deps.log), { changes, clock: deps.clock })
  return auditing === undefined ? pushing : audited(pushing, auditing)
}

/** The log is told of what callers see, so that it stands around everything else. */
function audited(pushing: Pushing, { calls }: Auditing): Pushing {
  return { ...withAudit(pushing, calls), flushed: (connection) => pushing.flushed(connection) }
}
