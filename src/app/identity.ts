import type { Registry } from 'prom-client'
import type { Config } from '../config/config.js'
import { ConfigError } from '../config/errors.js'
import type { AccessOf } from '../identity/caller.js'
import type { CommonNames } from '../identity/certificates.js'
import { type IdentityEvents, KeyFileError } from '../identity/open.js'
import { createReplaceableIdentity, type ReplaceableIdentity } from '../identity/replaceable.js'
import type { Clock } from '../protocol/time.js'
import { createIdentityMetrics, type IdentityMetrics } from '../telemetry/identity-metrics.js'
import type { Log } from '../telemetry/logs.js'

export interface AppIdentityOptions {
  readonly clock: Clock
  readonly log: Log
  readonly accessOf: AccessOf
  readonly metricRegistry: Registry
}

/** The identity of a gateway, made from its configuration. */
export interface AppIdentity extends Pick<ReplaceableIdentity, 'authenticate'> {
  /**
   * Makes another configuration's callers ready, and gives the function that lets them in, in place of those before. Rejects
   * with a `ConfigError`, and changes nothing, where they cannot be used.
   */
  prepare(config: Config, accessOf: AccessOf): Promise<() => void>
}

/** Rejects with a `ConfigError` where a file of keys cannot be used. */
export async function openAppIdentity(
  { auth: credentials }: Config,
  { clock, log, accessOf, metricRegistry }: AppIdentityOptions,
): Promise<AppIdentity> {
  const events = identityEvents(log, createIdentityMetrics(metricRegistry))
  const identity = await explained(
    createReplaceableIdentity({ credentials, accessOf, clock, events }),
  )
  return {
    authenticate: identity.authenticate,
    prepare: ({ auth }, next) => explained(identity.prepare({ credentials: auth, accessOf: next })),
  }
}

async function explained<T>(opening: Promise<T>): Promise<T> {
  try {
    return await opening
  } catch (thrown) {
    if (!(thrown instanceof KeyFileError)) throw thrown
    throw new ConfigError(['auth', 'jwt', thrown.index, 'jwks_file'], thrown.message)
  }
}

function identityEvents(log: Log, metrics: IdentityMetrics): IdentityEvents {
  return {
    keySetRead(issuer) {
      metrics.keySet('read')
      log.debug({ issuer }, 'read the key set of an issuer')
    },
    keySetFailed(issuer, reason, keys) {
      metrics.keySet('failed')
      log.warn({ issuer, reason }, FAILED[keys])
    },
    tokenRefused: (reason, issuer) => log.debug({ issuer, reason }, 'refused a token'),
    certificateRefused: certificateRefusedTo(log),
  }
}

/** Logs that a certificate is not taken for anybody's. */
export function certificateRefusedTo(
  log: Pick<Log, 'debug'>,
): (reason: string, names: CommonNames) => void {
  return (reason, { subject, issuer }) =>
    log.debug({ reason, subject, issuer }, 'refused a certificate')
}

const FAILED = {
  last_good: 'the key set of an issuer cannot be read; its last good one is used',
  none: 'the key set of an issuer cannot be read; its tokens are refused',
} as const
