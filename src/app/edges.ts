import type { Readable, Writable } from 'node:stream'
import type { Config } from '../config/config.js'
import { createAdminEdge } from '../edge/admin.js'
import { createDispatch } from '../edge/dispatch.js'
import { createHttpEdge } from '../edge/http.js'
import type { HttpListener } from '../edge/listener.js'
import { serveStdio } from '../edge/stdio.js'
import { createTraces } from '../edge/trace.js'
import { stdioCaller } from '../identity/identity.js'
import { PROTOCOL } from '../protocol/versions.js'
import { createCallLog, createFailureLog } from '../telemetry/call-log.js'
import { type Observer, observeAll } from '../telemetry/report.js'
import type { Core } from './core.js'
import type { AppDeps } from './deps.js'
import type { Entrance } from './entrance.js'
import { profileForAnyone, readinessOf, upstreamStates } from './report.js'

/** The most lines of stdio that are worked on at once. */
const MAX_IN_FLIGHT = 256
/** The shortest time between two log lines about one failure, in ms. */
const FAILURE_LOG_MS = 10_000
/** The longest that a sender may take for its headers, in ms. */
const HEADERS_MS = 10_000

/** What the edges of one gateway are made from. */
export interface EdgeParts {
  readonly config: Config
  readonly deps: AppDeps
  readonly core: Core
  readonly entrance: Entrance
}

/** The callers' listener. */
export function publicEdge(parts: EdgeParts): HttpListener {
  const { config, deps, core, entrance } = parts
  const { listen, allowedOrigins, limits } = config
  const { clock, randomBytes } = deps
  const { federation, served } = core
  return createHttpEdge({
    versions: new Map([[PROTOCOL, { served }]]),
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
    clock,
    randomBytes,
    wellKnown: async () =>
      profileForAnyone(federation.publicProfile(), config, federation.report()),
    ready: () => readinessOf(federation.report()),
  })
}

/** The operators' listener. */
export function adminEdge({ config, core }: EdgeParts): HttpListener {
  const { federation, standing, metricRegistry } = core
  return createAdminEdge({
    allowedOrigins: config.allowedOrigins,
    metrics: {
      contentType: metricRegistry.contentType,
      read: () => metricRegistry.metrics(),
    },
    ready: () => readinessOf(federation.report()),
    upstreams: () => upstreamStates(federation.report(), (name) => standing.breaker(name)),
  })
}

/** Serves one caller on a pair of streams until the input ends and what came in is answered. */
export function overStdio(parts: EdgeParts, input: Readable, output: Writable): Promise<void> {
  const { config, deps, core } = parts
  const { limits } = config
  return serveStdio({
    input,
    output,
    served: core.served,
    version: PROTOCOL,
    flushed: (connection) => core.served.flushed(connection),
    caller: stdioCaller([]),
    dispatch: createDispatch({
      clock: deps.clock,
      requestMs: limits.requestTimeout,
      observer: observer(parts),
      newTrace: createTraces(deps.randomBytes),
    }),
    maxLineBytes: limits.bodyBytes,
    maxInFlight: MAX_IN_FLIGHT,
  })
}

function observer({ config, deps, core }: EdgeParts): Observer {
  const { log, clock } = deps
  const failures = createFailureLog({ log, clock, everyMs: FAILURE_LOG_MS })
  const calls = config.log.calls ? [createCallLog(log)] : []
  const strangers = core.auditing === undefined ? [] : [core.auditing.strangers]
  return observeAll([core.metrics, failures, ...calls, ...strangers])
}
