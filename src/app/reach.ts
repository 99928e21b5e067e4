import type { TierConfig, UpstreamConfig } from '../config/config.js'
import { secretsOf } from '../config/secrets.js'
import { Fault } from '../protocol/errors.js'
import { createIds } from '../protocol/ids.js'
import type { Memory } from '../protocol/memory.js'
import type { StoreOptions, TierOption } from '../stores/options.js'
import { createScrub, withoutTokens } from '../telemetry/logs.js'
import type { Metrics, UpstreamEvent } from '../telemetry/metrics.js'
import { createClient } from '../transport/client.js'
import type { TransportEvents } from '../transport/events.js'
import { createWorkerStore } from '../transport/in-process.js'
import { ProcessGroups } from '../transport/process-group.js'
import { createStdioWire } from '../transport/stdio.js'
import type { Reached } from '../upstreams/upstream.js'
import { withDiscretion } from '../upstreams/with-discretion.js'
import type { AppDeps } from './deps.js'
import { type Signing, vouchFor } from './signing.js'

export interface ReachOptions
  extends Pick<AppDeps, 'clock' | 'random' | 'randomBytes' | 'baseEnv' | 'log'> {
  readonly tiers: readonly TierConfig[]
  readonly durability: 'normal' | 'full'
  readonly happened: Metrics['happened']
  /** The name of the federation that they are of. */
  readonly federation: string
  readonly signing: Signing | undefined
}

/**
 * Opens the way to every upstream, all at once, by its name. Built-in stores are there when this resolves; servers elsewhere are not waited
 * for. Throws one Error that names the file where a store cannot be opened, once those already open are closed.
 */
export async function reachAll(
  upstreams: readonly UpstreamConfig[],
  options: ReachOptions,
): Promise<ReadonlyMap<string, Reached>> {
  const groups = new ProcessGroups()
  const ways = await Promise.allSettled(
    upstreams.map(async (upstream) => {
      const way = await reach(upstream, { ...options, groups })
      const counted = countingBadReplies(upstream.name, way, options)
      return keepingOwners(upstream, discreet(upstream, counted), options)
    }),
  )
  const open = ways.flatMap((way) => (way.status === 'fulfilled' ? [way.value] : []))
  const failed = ways.find((way) => way.status === 'rejected')
  if (failed !== undefined) {
    await Promise.allSettled(open.map(({ memory }) => memory.close()))
    throw failed.reason
  }
  return new Map(open.map((way, index) => [upstreams[index]?.name ?? '', way]))
}

interface Reaching extends ReachOptions {
  readonly groups: ProcessGroups
}

async function reach(upstream: UpstreamConfig, options: Reaching): Promise<Reached> {
  const { connect, maxReplyBytes, name } = upstream
  const { clock, random, baseEnv, groups } = options
  const events = eventsOf(name, options)
  if (connect.kind === 'http') {
    const { bearer, connections } = connect
    const url = new URL(connect.url)
    const { createHttpWire } = await import('../transport/http.js')
    const wire = createHttpWire({ url, clock, bearer, connections, maxReplyBytes })
    const vouch = await vouchFor(upstream, options.federation, options.signing)
    return { memory: createClient(wire, vouch), wellKnown: (context) => wire.readProfile(context) }
  }
  if (connect.kind === 'stdio') {
    const { command, env, cwd } = connect
    const child = { command, env, baseEnv, cwd, clock, random, events, groups, maxReplyBytes }
    return { memory: createClient(createStdioWire(child)) }
  }
  const store = storeOptions(upstream, connect, options)
  return { memory: await createWorkerStore({ workerData: store, clock, random, events }) }
}

type StoreConnect = Extract<UpstreamConfig['connect'], { readonly kind: 'store' }>

/** Capacity and spilling are the gateway's to keep, since they may lead to another upstream. */
function storeOptions(
  { name, access }: UpstreamConfig,
  { path, metric, tiers }: StoreConnect,
  options: ReachOptions,
): StoreOptions {
  const mapped = tiers.map((tier) => tierOption(name, tier, options.tiers))
  return {
    path,
    name,
    ...(mapped.length > 0 ? { tiers: mapped } : {}),
    ...(metric === undefined ? {} : { metric }),
    access: access ?? 'read-write',
    durability: options.durability,
  }
}

function tierOption(upstream: string, name: string, tiers: readonly TierConfig[]): TierOption {
  const tier = tiers.find((one) =>
    one.upstream === upstream ? one.upstreamTier === name : one.name === name,
  )
  return tier?.kind === undefined ? { name } : { name, kind: tier.kind }
}

/** What happens on a line that stays open is counted and logged, each time under the upstream's name. */
function eventsOf(upstream: string, { log, happened }: ReachOptions): TransportEvents {
  const count = (event: UpstreamEvent): void => happened(event, upstream)
  return {
    onNoise(reason) {
      count('stdout_noise')
      log.debug({ upstream, reason }, 'passed over what answers nothing')
    },
    onStderr: (line) => log.info({ upstream, line }, 'stderr of a child'),
    onRestart({ attempt, delay, reason }) {
      count('child_restart')
      log.warn({ upstream, attempt, delay, reason }, 'it ended and is started again')
    },
  }
}

function countingBadReplies(
  upstream: string,
  { memory, ...rest }: Reached,
  { happened }: ReachOptions,
): Reached {
  const counting: Memory = {
    async call(method, params, context) {
      try {
        return await memory.call(method, params, context)
      } catch (thrown) {
        if (thrown instanceof Fault && thrown.kind === 'bad_reply') happened('bad_reply', upstream)
        throw thrown
      }
    },
    close: () => memory.close(),
  }
  return { memory: counting, ...rest }
}

function discreet(upstream: UpstreamConfig, { memory, ...rest }: Reached): Reached {
  const secrets = secretsOf(upstream)
  const signed = upstream.owner === 'token'
  if (secrets.length === 0 && !signed) return { memory, ...rest }
  const scrub = createScrub(secrets)
  const scrubAll = signed ? (text: string) => scrub(withoutTokens(text)) : scrub
  return { memory: withDiscretion(memory, scrubAll), ...rest }
}

/** An upstream that is told owners in metadata is from here on one that keeps them apart. What does that is loaded where it is wanted. */
async function keepingOwners(
  { name, owner }: UpstreamConfig,
  reached: Reached,
  { clock, randomBytes, happened }: ReachOptions,
): Promise<Reached> {
  if (owner !== 'metadata') return reached
  const { withOwnerMetadata } = await import('../upstreams/owner-metadata/with-owner-metadata.js')
  const newId = createIds(clock.now, randomBytes)
  return withOwnerMetadata(reached, { newId, blame: (what, count) => happened(what, name, count) })
}
