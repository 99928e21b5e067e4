import { resolve } from 'node:path'
import type { ConnectConfig, TierConfig, UpstreamConfig } from './config.js'
import { ConfigError } from './errors.js'
import type { UpstreamFile } from './schema.js'

/** Where relative paths start, and the tiers that tell a built-in store which ones it holds. */
export interface Surroundings {
  readonly cwd: string
  readonly dataDir: string
  readonly tiers: readonly TierConfig[]
}

/** Turns one upstream of the file into the value that the rest works with. */
export function toUpstream(name: string, file: UpstreamFile, around: Surroundings): UpstreamConfig {
  const { owner, access, ids, timeout, concurrency, retries, breaker, refresh } = file
  return {
    name,
    connect: toConnect(name, file, around),
    owner,
    audience: file.audience,
    access,
    // Whatever is told owners in metadata has ids that the gateway gave, also where it is only read.
    ids: owner === 'metadata' ? (ids ?? 'own') : ids,
    timeout,
    concurrency,
    retries,
    breaker,
    maxReplyBytes: file.max_reply_bytes,
    refresh,
  }
}

const WAYS = { url: 'http', command: 'stdio', store: 'store' } as const
type Way = keyof typeof WAYS

/** The keys that mean something for one way of reaching an upstream only. */
const KEYS_OF: { readonly [W in Way]: readonly (keyof UpstreamFile)[] } = {
  url: ['auth', 'connections'],
  command: ['env', 'cwd'],
  store: ['path', 'metric'],
}

function toConnect(name: string, file: UpstreamFile, around: Surroundings): ConnectConfig {
  refuseStrangers(name, file, wayOf(name, file))
  if (file.url !== undefined) {
    const connections = file.connections ?? Math.min(file.concurrency, 1024)
    return { kind: 'http', url: file.url, bearer: file.auth?.bearer, connections }
  }
  const [program, ...rest] = file.command ?? []
  if (program !== undefined) {
    const cwd = file.cwd === undefined ? undefined : resolve(around.cwd, file.cwd)
    return { kind: 'stdio', command: [program, ...rest], env: file.env ?? {}, cwd }
  }
  if (file.path === undefined) {
    throw new ConfigError(['upstreams', name, 'path'], 'is missing; name the file of the store')
  }
  return {
    kind: 'store',
    path: resolve(around.dataDir, file.path),
    metric: file.metric,
    tiers: tiersAt(name, around.tiers),
  }
}

function wayOf(name: string, file: UpstreamFile): Way {
  const [way, second] = (Object.keys(WAYS) as Way[]).filter((key) => file[key] !== undefined)
  if (way === undefined || second !== undefined) {
    throw new ConfigError(['upstreams', name], 'needs one of url, command and store, and one only')
  }
  return way
}

function refuseStrangers(name: string, file: UpstreamFile, way: Way): void {
  for (const [other, keys] of Object.entries(KEYS_OF)) {
    const stranger = other === way ? undefined : keys.find((key) => file[key] !== undefined)
    if (stranger !== undefined) {
      throw new ConfigError(['upstreams', name, stranger], `goes with ${other}, not with ${way}`)
    }
  }
}

/** A tier that is only read here has the gateway's name for it. */
function tiersAt(upstream: string, tiers: readonly TierConfig[]): readonly string[] {
  const names = tiers.flatMap((tier) => {
    if (tier.upstream === upstream) return [tier.upstreamTier]
    return tier.also.includes(upstream) ? [tier.name] : []
  })
  return [...new Set(names)]
}
