import { randomBytes } from 'node:crypto'
import type { AppDeps } from '../app/deps.js'
import type { Config } from '../config/config.js'
import {
  secretsOf,
  secretsOfModels,
  secretsOfQuotas,
  secretsOfUsage,
  secretsOfVersions,
} from '../config/secrets.js'
import { viewsOf } from '../config/views.js'
import { systemClock } from '../protocol/time.js'
import { createLog } from '../telemetry/logs.js'
import type { Terminal } from './terminal.js'

/** Time and chance as this machine has them. */
export const SYSTEM = { clock: systemClock, random: Math.random, randomBytes } as const

/** What a gateway takes from the process that it runs in. */
export function depsFor(config: Config, { env }: Terminal): AppDeps {
  const log = createLog({ level: config.log.level, secrets: allSecrets(config) })
  return { ...SYSTEM, baseEnv: env, log, purpose: 'serve' }
}

/** The same for a look at what a configuration amounts to: it says in the end what a log would say on the way. */
export function depsToLook(config: Config, { env }: Terminal): AppDeps {
  const log = createLog({ level: 'error', secrets: allSecrets(config) })
  return { ...SYSTEM, baseEnv: env, log, purpose: 'look' }
}

function allSecrets(config: Config): readonly string[] {
  const { models, quotas, usage, versions } = config
  const upstreams = viewsOf(config).flatMap((view) => view.config.federation.upstreams)
  const ofUpstreams = [...upstreams.flatMap(secretsOf), ...secretsOfVersions(versions)]
  const ofEdge = [...secretsOfQuotas(quotas), ...secretsOfUsage(usage)]
  return [...ofUpstreams, ...secretsOfModels(models), ...ofEdge]
}
