import { Registry } from 'prom-client'
import type { Config, UpstreamConfig } from '../config/config.js'
import { ConfigError } from '../config/errors.js'
import { qualified, type View, viewsOf } from '../config/views.js'
import { probe } from '../probe/probe.js'
import type { ProbeReport } from '../probe/report.js'
import type { Cancellation } from '../protocol/cancellation.js'
import { checkParams } from '../protocol/checks.js'
import { toA2mError } from '../protocol/errors.js'
import { createIds } from '../protocol/ids.js'
import type { Context, Memory } from '../protocol/memory.js'
import { ownerOf } from '../protocol/scope.js'
import { withOwnerMetadata } from '../upstreams/owner-metadata/with-owner-metadata.js'
import { internalContext, type Reached } from '../upstreams/upstream.js'
import { Closers } from './closers.js'
import type { AppDeps } from './deps.js'
import { reachAll } from './reach.js'
import { createSigning } from './signing.js'

export interface ProbeUpstreamOptions {
  readonly config: Config
  readonly upstream: string
  readonly deps: AppDeps
  /** Cancelled when the probe is to stop; it still clears up then. */
  readonly stop: Cancellation
}

/** A probe is in no hurry: each of its calls may take this many times what a caller would wait, and a child has to start first. */
const PATIENCE = 5

/**
 * Opens the way to one upstream alone and tries what it declares. Throws a `ConfigError` where it is not there or never to be
 * written to, and an Error that says why where it does not describe itself.
 */
export async function probeUpstream(options: ProbeUpstreamOptions): Promise<ProbeReport> {
  const { config, deps } = options
  const { upstream, federation } = chosen(options)
  const { durability } = config
  const closers = new Closers()
  const signing = createSigning({ config, deps, metricRegistry: new Registry(), closers })
  const around = {
    ...{ ...deps, tiers: federation.config.federation.tiers, durability, signing },
    ...{ happened: () => {}, federation: federation.name },
  }
  const asItIs = {
    ...upstream,
    owner: upstream.owner === 'metadata' ? 'none' : upstream.owner,
  } as const
  const reached = (await reachAll([asItIs], around)).get(upstream.name)
  if (reached === undefined) throw new TypeError(`upstream ${upstream.name} was not opened`)
  try {
    return await run(upstream, reached, options)
  } finally {
    await reached.memory.close()
    await closers.close()
  }
}

interface Chosen {
  readonly upstream: UpstreamConfig
  readonly federation: View
}

/** One of a federation beside the default one is named `FEDERATION/UPSTREAM`. */
function chosen({ config, upstream: name }: ProbeUpstreamOptions): Chosen {
  const all = viewsOf(config).flatMap((federation) =>
    federation.config.federation.upstreams.map((upstream): Chosen => ({ upstream, federation })),
  )
  const nameOf = (one: Chosen) => qualified(one.federation.name, one.upstream.name)
  const found = all.find((one) => nameOf(one) === name)
  if (found === undefined) {
    const names = all.map(nameOf).join(', ')
    throw new ConfigError(['upstreams', name], `is not there; there are ${names}`)
  }
  const { upstream, federation } = found
  if (upstream.access === 'read-only') {
    const path = [...federation.path, 'upstreams', upstream.name, 'access']
    throw new ConfigError(path, 'read-only is never written to')
  }
  return found
}

async function run(
  { name, owner, connect, timeout }: UpstreamConfig,
  reached: Reached,
  { deps, stop }: ProbeUpstreamOptions,
): Promise<ProbeReport> {
  const { memory } = reached
  const { clock, randomBytes } = deps
  const cleaning = (): Context => internalContext(clock.monotonic() + timeout * PATIENCE)
  const mark = `a2m-probe-${Buffer.from(randomBytes(6)).toString('hex')}`
  const asked = (inner: Memory): Memory => {
    if (connect.kind === 'store') return checked(inner)
    return owner === 'token' ? forOwners(inner, `${mark}-owner`) : inner
  }
  try {
    return await probe({
      upstream: name,
      memory: asked(memory),
      owners: owner === 'none' || owner === 'metadata' ? 'none' : 'parameter',
      ...(owner === 'metadata' ? { inMetadata: toldOwners(reached, deps) } : {}),
      line: connect.kind === 'http' ? 'request-reply' : 'two-way',
      mark,
      context: () => ({ ...cleaning(), cancellation: stop }),
      cleaning,
    })
  } catch (thrown) {
    if (thrown instanceof TypeError) throw thrown
    throw new Error(`${name} cannot be probed: ${toA2mError(thrown).message}`)
  }
}

/** The same upstream as the gateway has it where it tells it owners in metadata. */
function toldOwners(reached: Reached, { clock, randomBytes }: AppDeps) {
  const newId = createIds(clock.now, randomBytes)
  const { memory, flaws = () => [] } = withOwnerMetadata(reached, { newId, blame: () => {} })
  return { memory, flaws }
}

/** Where tokens say who asks, every call is somebody's: the owner's that it names, or else that of the probe's own records. */
function forOwners(inner: Memory, usual: string): Memory {
  return {
    call(method, params, context) {
      if (method === 'memory/describe' && !('owner' in params))
        return inner.call(method, params, context)
      const entry = 'records' in params ? params.records[0] : undefined
      const owner = ownerOf(params) ?? entry?.owner ?? usual
      return inner.call(method, params, { ...context, owner })
    },
    close: () => inner.close(),
  }
}

/** A built-in store of a gateway has its params checked before they reach its thread, here as there. */
function checked(inner: Memory): Memory {
  return {
    call: async (method, params, context) =>
      inner.call(method, checkParams(method, params), context),
    close: () => inner.close(),
  }
}
