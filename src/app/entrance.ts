import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../config/config.js'
import { ConfigError } from '../config/errors.js'
import { isLoopback } from '../edge/guard.js'
import { TlsDoor } from '../edge/tls.js'
import type { AccessOf } from '../identity/caller.js'
import type { Identity } from '../identity/identity.js'
import { createAccessOf } from '../identity/roles.js'
import type { Log } from '../telemetry/logs.js'
import { type AppIdentityOptions, certificateRefusedTo, openAppIdentity } from './identity.js'
import { readTls } from './tls.js'

/** Who is let in, and how the callers' listener shows itself: what can be changed while a gateway serves. */
export interface Entrance {
  readonly identity: Identity
  /** Undefined where the listener is not encrypted. */
  readonly tls: TlsDoor | undefined
  /** The roles of those who are let in; undefined where roles are labels. */
  roles(): Config['roles']
  /**
   * Takes callers, roles and certificates from another configuration, all of them or, where it rejects, none. Gives the keys
   * of the file under which something else has changed since the start, which counts only from the next start on.
   */
  reload(next: Config): Promise<readonly string[]>
}

/** Rejects with a `ConfigError` where a file of keys or certificates cannot be used. */
export async function openEntrance(
  config: Config,
  parts: Pick<AppIdentityOptions, 'clock' | 'log' | 'metricRegistry'>,
): Promise<Entrance> {
  const { tls: files } = config.listen
  const tls = files && new TlsDoor(await readTls(files), certificateRefusedTo(parts.log))
  const identity = await openAppIdentity(config, { ...parts, accessOf: accessFor(config) })
  let { roles } = config
  return {
    identity,
    tls,
    roles: () => roles,
    async reload(next) {
      refuseOpening(config, next)
      const letIn = await identity.prepare(next, accessFor(next))
      const material = next.listen.tls && (await readTls(next.listen.tls))
      letIn()
      roles = next.roles
      if (material !== undefined) tls?.renew(material)
      return lasting(config, next)
    },
  }
}

/** Says so where what callers show of themselves can be read on the way. `host` is the address that was bound. */
export function warnOfReadable({ auth, listen }: Config, host: string, log: Log): void {
  if (auth === undefined || listen.tls !== undefined || isLoopback(host)) return
  log.warn(
    { host },
    'keys and tokens come in readable to whoever is on the way; set listen.tls, or see that a proxy in front ends TLS',
  )
}

/** Whether callers are known at all has been promised, in describe, since the start; whether roles bound them, events are kept by. */
function refuseOpening(started: Config, next: Config): void {
  for (const key of ['auth', 'roles'] as const) {
    if ((started[key] === undefined) === (next[key] === undefined)) continue
    throw new ConfigError([key], 'comes or goes only with a restart')
  }
}

function accessFor({ roles }: Config): AccessOf {
  return createAccessOf(roles)
}

/** What the keys of a configuration are called in its file, where that is not the same word with underscores. */
const IN_FILE: Readonly<Record<string, string>> = {
  federation: 'upstreams, tiers or recall',
  auth: 'auth.owner_mismatch',
}

/** What differs and stays as it was until the next start. */
function lasting(started: Config, next: Config): readonly string[] {
  const before = withoutEntrance(started)
  const after = withoutEntrance(next)
  return Object.keys(after)
    .filter((key) => !isDeepStrictEqual(Reflect.get(before, key), Reflect.get(after, key)))
    .map((key) => IN_FILE[key] ?? key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
}

/** All that a reload does not take over. Whether there is TLS, and whether clients are asked for certificates, is settled at the start. */
function withoutEntrance({ auth, listen, ...rest }: Config): object {
  const { tls, ...address } = listen
  return {
    ...rest,
    roles: undefined,
    listen: { ...address, tls: tls && { asks: tls.ca !== undefined } },
    auth: auth && { ownerMismatch: auth.ownerMismatch },
  }
}
