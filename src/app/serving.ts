import type { Config } from '../config/config.js'
import { type Pushing, withPush } from '../edge/with-push.js'
import type { Federation } from '../federation/federation.js'
import { withCrashLog } from '../telemetry/with-crash-log.js'
import type { AppDeps } from './deps.js'

/** One federation, and what is wrapped around each alike. */
export interface ServingParts {
  readonly config: Config
  readonly federation: Federation
  readonly deps: AppDeps
}

/** A federation as edges serve it: what happens around every call of it, the innermost first. */
export function serving({ federation, deps }: ServingParts): Pushing {
  const { changes } = federation
  return withPush(withCrashLog(federation, deps.log), { changes, clock: deps.clock })
}
