import type { Readable, Writable } from 'node:stream'
import type { Config } from '../config/config.js'
import { createAdminEdge } from '../edge/admin.js'
import { createDispatch } from '../edge/dispatch.js'
import { createHttpEdge } from '../edge/http.js'
import type { HttpListener } from '../edge/listener.js'
import { serveStdio } from '../edge/stdio.js'
import { createTraces } from '../edge/trace.js'
import type { Versions } from '../edge/versions.js'
import { stdioCaller } from '../identity/identity.js'
import type { Description } from '../protocol/methods.js'
import { createCallLog, createFailureLog } from '../telemetry/call-log.js'
import { type Observer, observeAll } from '../telemetry/report.js'
import { createSunsetLog } from '../telemetry/sunset-log.js'
import type { Cores } from './cores.js'
import type { AppDeps } from './deps.js'
import type { Entrance } from './entrance.js'
import { allUpstreamStates, overallReadiness } from './overview.js'
import { profileForAnyone } from './report.js'
import { defaultCore, nameOfDefault, onlyOverHttp, servedBy } from './versions.js'

/** The most lines of stdio that are worked on at once. */
const MAX_IN_FLIGHT = 256
/** The shortest time between two log lines about one failure, in ms. */
const FAILURE_LOG_MS = 10_000
/** The shortest time between two log lines about a version that is used after its sunset, in ms. */
const SUNSET_LOG_MS = 3_600_000
/** The longest that a sender may take for its headers, in ms. */
const HEADERS_MS = 10_000

/** What the edges of one gateway are made from. */
export interface EdgeParts {
  readonly config: Config
  readonly deps: AppDeps
  readonly cores: Cores
  /** Every version and what serves it. */
  readonly versions: Versions
  readonly entrance: Entrance
}

/** The callers' listener. */
export function publicEdge(parts: EdgeParts): HttpListener {
  const { config, deps, cores, versions, entrance } = parts
  const { listen, allowedOrigins, limits } = config
  const { clock, randomBytes } = deps
  return createHttpEdge({
    versions,
    identity: entrance.identity,
    tls: entrance.tls,
    path: listen.path,
    allowedOrigins,
    limits: {
      maxBodyBytes: limits.bodyBytes,
      callMs: limits.requestTimeout,
      headersMs: Math.min(HEADERS_MS, limits.receiveTimeout),
      requestMs: limits.receiveTimeout,
    },
    observer: observer(parts),
    keep: cores.metering?.keep,
    clock,
    randomBytes,
    wellKnown: wellKnown(config, cores, entrance),
    ready: () => overallReadiness(config, cores.all),
    keys: cores.signing?.published,
  })
}

/** That of the default version; what is passed on says nothing of itself here. */
function wellKnown(
  config: Config,
  { all }: Cores,
  { roles }: Entrance,
): (() => Promise<Description>) | undefined {
  const core = defaultCore(config, all)
  if (core === undefined) return undefined
  const { federation } = core
  const protocol = nameOfDefault(config)
  return async () => ({
    ...profileForAnyone(federation.publicProfile(roles()), core.config, federation.report()),
    protocol,
  })
}

/** The operators' listener. */
export function adminEdge({ config, cores }: EdgeParts): HttpListener {
  const { all, metering, metricRegistry } = cores
  return createAdminEdge({
    allowedOrigins: config.allowedOrigins,
    metrics: {
      contentType: metricRegistry.contentType,
      read: () => metricRegistry.metrics(),
    },
    ready: () => overallReadiness(config, all),
    upstreams: () => allUpstreamStates(all),
    usage: metering,
  })
}

/** Serves one caller on a pair of streams until the input ends and what came in is answered. */
export function overStdio(parts: EdgeParts, input: Readable, output: Writable): Promise<void> {
  const { config, deps, cores, versions } = parts
  const { limits } = config
  const core = defaultCore(config, cores.all)
  const served = servedBy(versions, nameOfDefault(config))
  if (core === undefined || served === undefined) throw onlyOverHttp(config)
  return serveStdio({
    input,
    output,
    served,
    version: nameOfDefault(config),
    flushed: (connection) => core.served.flushed(connection),
    caller: stdioCaller([]),
    dispatch: createDispatch({
      clock: deps.clock,
      requestMs: limits.requestTimeout,
      observer: observer(parts),
      keep: cores.metering?.keep,
      newTrace: createTraces(deps.randomBytes),
    }),
    maxLineBytes: limits.bodyBytes,
    maxInFlight: MAX_IN_FLIGHT,
  })
}

function observer({ config, deps, cores }: EdgeParts): Observer {
  const { log, clock } = deps
  const failures = createFailureLog({ log, clock, everyMs: FAILURE_LOG_MS })
  const calls = config.log.calls ? [createCallLog(log)] : []
  const strangers = cores.auditing === undefined ? [] : [cores.auditing.strangers]
  return observeAll([
    cores.metrics,
    cores.versions,
    failures,
    ...calls,
    ...strangers,
    ...sunset(config, deps),
  ])
}

/** Nobody watches where no version is to go. */
function sunset({ versions }: Config, { log, clock }: AppDeps): readonly Observer[] {
  const sunsets = new Map(
    versions.flatMap(({ name, sunset }) => (sunset === undefined ? [] : [[name, sunset] as const])),
  )
  return sunsets.size === 0
    ? []
    : [createSunsetLog({ log, clock, sunsets, everyMs: SUNSET_LOG_MS })]
}
