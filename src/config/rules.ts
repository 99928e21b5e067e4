import { isIP } from 'node:net'
import { checkAuth } from './auth-rules.js'
import type { Config } from './config.js'
import { ConfigError } from './errors.js'
import { checkFederation } from './federation-rules.js'
import { within } from './federations.js'
import { refuseSharedFiles } from './files.js'
import { viewsOf } from './views.js'

/**
 * What one value of the configuration demands of another. Throws a `ConfigError` at the first that does not hold. `source` is
 * the file that it was read from, absolute.
 */
export function checkRules(config: Config, source?: string): void {
  const { auth, listen } = config
  if (auth === undefined) refuseOpenToAll(listen.host)
  checkAuth({ auth, tls: listen.tls })
  refuseTakenPath(listen.path)
  refuseSharedListener(config)
  refuseSharedFiles(config, source)
  refuseMissingModel(config)
  for (const view of viewsOf(config)) within(view.path, () => checkFederation(view.config))
}

function refuseOpenToAll(host: string): void {
  if (isLoopback(host)) return
  throw new ConfigError(
    ['listen', 'host'],
    `${host} is reached from other machines, and nobody has to show a key; add auth.keys or listen on 127.0.0.1`,
  )
}

/** Whether an address, or the name of one, is reached from this machine alone. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

/** Paths of the public listener that the gateway answers itself. */
const OWN_PATHS = /^\/(health|\.well-known)(\/|$)/

function refuseTakenPath(path: string): void {
  const taken = OWN_PATHS.exec(path)?.[1]
  if (taken === undefined) return
  throw new ConfigError(
    ['listen', 'path'],
    `what is under /${taken} the gateway answers itself; choose another path, such as /a2m`,
  )
}

function refuseSharedListener({ listen, admin }: Config): void {
  if (admin === undefined || admin.port === 0 || admin.port !== listen.port) return
  if (!covers(listen.host, admin.host) && !covers(admin.host, listen.host)) return
  throw new ConfigError(
    ['admin', 'port'],
    `${admin.port} is also the port of listen; choose another, or write admin: off`,
  )
}

/** Whether what listens on one address would also take the connections to the other. */
function covers(host: string, other: string): boolean {
  return host === other || host === '::' || (host === '0.0.0.0' && isIP(other) !== 6)
}

function refuseMissingModel({ summarize, models }: Config): void {
  if (summarize !== 'model' || models.summarize !== undefined) return
  throw new ConfigError(['summarize'], 'model needs models.summarize; extractive needs no model')
}
