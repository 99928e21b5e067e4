import { isIP } from 'node:net'
import { join } from 'node:path'
import { refuseTakenAuditFile } from './audit.js'
import {
  type ApiKey,
  type AuthConfig,
  type Config,
  STATE_FILE,
  type TierConfig,
  type UpstreamConfig,
} from './config.js'
import { ConfigError } from './errors.js'

/** The owner of a key that may act for every owner. */
const EVERY_OWNER = '*'

/** What one value of the configuration demands of another. Throws a `ConfigError` at the first that does not hold. */
export function checkRules(config: Config): void {
  const { auth, federation, listen } = config
  if (auth === undefined) refuseOpenToAll(listen.host)
  else refuseTwinKeys(auth.keys)
  refuseTakenPath(listen.path)
  refuseSharedListener(config)
  refuseSharedStores(config)
  refuseTakenAuditFile(config)
  refuseMixedOwners(federation.upstreams, auth)
  refuseMissingModel(config)
  for (const tier of federation.tiers) checkTier(tier, config)
  refuseSharedTiers(federation.tiers)
  refuseSpillCircle(federation.tiers)
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

function refuseTwinKeys(keys: readonly ApiKey[]): void {
  for (const [index, key] of keys.entries()) {
    const before = keys.slice(0, index)
    const path = ['auth', 'keys', index]
    if (before.some(({ name }) => name === key.name)) {
      throw new ConfigError([...path, 'name'], `another key is called ${key.name}`)
    }
    const twin = before.find(({ sha256 }) => sha256 === key.sha256)
    if (twin !== undefined) {
      throw new ConfigError([...path, 'sha256'], `this is also the key of ${twin.name}`)
    }
  }
}

function refuseSharedStores({ dataDir, federation }: Config): void {
  const own = join(dataDir, STATE_FILE)
  const holders = new Map<string, string>()
  for (const { name, connect } of federation.upstreams) {
    if (connect.kind !== 'store') continue
    if (connect.path === own) {
      throw new ConfigError(
        ['upstreams', name, 'path'],
        `${STATE_FILE} in data_dir is the gateway's own file; name another`,
      )
    }
    const holder = holders.get(connect.path)
    if (holder !== undefined) {
      throw new ConfigError(['upstreams', name, 'path'], `is already the file of ${holder}`)
    }
    holders.set(connect.path, name)
  }
}

function refuseMissingModel({ summarize, models }: Config): void {
  if (summarize !== 'model' || models.summarize !== undefined) return
  throw new ConfigError(['summarize'], 'model needs models.summarize; extractive needs no model')
}

function refuseMixedOwners(
  upstreams: readonly UpstreamConfig[],
  auth: AuthConfig | undefined,
): void {
  const confined = auth?.keys.find(({ owner }) => owner !== EVERY_OWNER)
  if (confined === undefined) return
  for (const { name, owner, access } of upstreams) {
    if (owner !== 'none' || access === 'read-only') continue
    throw new ConfigError(
      ['upstreams', name, 'owner'],
      `none keeps nobody's records apart, and the key ${confined.name} is confined to one owner; add access: read-only`,
    )
  }
}

function checkTier(tier: TierConfig, { federation }: Config): void {
  const path = ['tiers', tier.name]
  const upstreams = federation.upstreams.map(({ name }) => name)
  const tiers = federation.tiers.map(({ name }) => name)
  mustExist(tier.upstream, upstreams, { path: [...path, 'upstream'], what: 'upstream' })
  for (const [index, name] of tier.also.entries()) {
    mustExist(name, upstreams, { path: [...path, 'also', index], what: 'upstream' })
    if (name === tier.upstream || tier.also.indexOf(name) < index) {
      throw new ConfigError([...path, 'also', index], `${name} is already asked for this tier`)
    }
  }
  for (const [key, target] of Object.entries({
    spill_to: tier.spillTo,
    promote_to: tier.promoteTo,
  })) {
    if (target === undefined) continue
    mustExist(target, tiers, { path: [...path, key], what: 'tier' })
    if (target === tier.name) throw new ConfigError([...path, key], 'is the tier itself')
  }
  if (tier.overflow === 'drop' && tier.spillTo !== undefined) {
    throw new ConfigError([...path, 'overflow'], 'drop and spill_to exclude each other')
  }
  checkFlow(tier, federation.tiers)
}

/** What goes on from one tier to another by itself. */
function checkFlow(tier: TierConfig, tiers: readonly TierConfig[]): void {
  const path = ['tiers', tier.name]
  const spills = tiers.find(({ name }) => name === tier.spillTo)
  if (spills?.kind === 'procedural') {
    throw new ConfigError(
      [...path, 'spill_to'],
      `${spills.name} is procedural memory, and nothing spills into that`,
    )
  }
  if (tier.promoteAfter !== undefined && tier.promoteTo === undefined) {
    throw new ConfigError([...path, 'promote_after'], 'needs a promote_to that says where to')
  }
  if (tier.perSession && tier.capacity === 0) {
    throw new ConfigError([...path, 'per_session'], 'needs a capacity that each session may have')
  }
}

interface Reference {
  readonly path: readonly (string | number)[]
  readonly what: 'upstream' | 'tier'
}

function mustExist(name: string, known: readonly string[], { path, what }: Reference): void {
  if (known.includes(name)) return
  throw new ConfigError(path, `there is no ${what} called ${name}; there are ${known.join(', ')}`)
}

function refuseSharedTiers(tiers: readonly TierConfig[]): void {
  for (const [index, tier] of tiers.entries()) {
    const twin = tiers
      .slice(0, index)
      .find((other) => other.upstream === tier.upstream && other.upstreamTier === tier.upstreamTier)
    if (twin === undefined) continue
    throw new ConfigError(
      ['tiers', tier.name, 'upstream_tier'],
      `${tier.upstreamTier} of ${tier.upstream} is already the tier ${twin.name}`,
    )
  }
}

function refuseSpillCircle(tiers: readonly TierConfig[]): void {
  for (const { name } of tiers) {
    const route = [name]
    let next = tiers.find((tier) => tier.name === name)?.spillTo
    while (next !== undefined && !route.includes(next)) {
      route.push(next)
      next = tiers.find((tier) => tier.name === route.at(-1))?.spillTo
    }
    if (next !== name) continue
    throw new ConfigError(
      ['tiers', name, 'spill_to'],
      `spills in a circle: ${[...route, name].join(' > ')}`,
    )
  }
}
