import { resolve } from 'node:path'
import { toAudit } from './audit.js'
import type { Config, FederationConfig, ModelConfig, ModelsConfig, TierConfig } from './config.js'
import { EMBEDDED } from './embedded.js'
import { type Environment, fillIn } from './environment.js'
import { ConfigError, type Path } from './errors.js'
import { checkRules } from './rules.js'
import {
  type ConfigFile,
  fileSchema,
  type ModelFile,
  type TierFile,
  type UpstreamFile,
} from './schema.js'
import { toUpstream } from './upstreams.js'
import { foremost } from './values.js'
import { parseYaml } from './yaml.js'

/** A configuration as it is found. Relative paths start at `cwd`; `file` is its name, for messages. */
export interface Source {
  readonly text: string
  readonly file: string
  readonly env: Environment
  readonly cwd: string
  /** What the command line says of the address to listen on; it goes before the file. */
  readonly listen?: { readonly host?: string | undefined; readonly port?: number | undefined }
}

/** Reads, checks and freezes a configuration. Throws one `ConfigError` that names the file and the path of the fault. */
export function loadConfig(source: Source): Config {
  const { file, cwd, env } = source
  let hide = (message: string): string => message
  try {
    const { value, order } = parseYaml(source.text)
    const filled = fillIn(value, env)
    hide = filled.hide
    return finish(withListen(checkShape(filled.value), source.listen), { cwd, order })
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown
    throw new ConfigError(thrown.path, hide(thrown.problem), file)
  }
}

/** What runs without a file: embedded stores in `data` under `cwd`, on loopback, open to every caller there. */
export function defaultConfig(cwd: string, listen?: Source['listen']): Config {
  return finish(withListen(checkShape({}), listen), { cwd, order: () => [] })
}

function checkShape(value: unknown): ConfigFile {
  const parsed = fileSchema.safeParse(value)
  if (parsed.success) return parsed.data
  const issue = foremost(parsed.error.issues)
  const key = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
  throw new ConfigError([...((issue?.path ?? []) as Path), ...key], issue?.message ?? 'malformed')
}

function withListen(file: ConfigFile, listen: Source['listen']): ConfigFile {
  const { host = file.listen.host, port = file.listen.port } = listen ?? {}
  return { ...file, listen: { ...file.listen, host, port } }
}

interface Place {
  readonly cwd: string
  readonly order: (key: string) => readonly string[]
}

function finish(file: ConfigFile, place: Place): Config {
  const dataDir = resolve(place.cwd, file.data_dir)
  const { limits, admin } = file
  const config: Config = {
    name: file.name,
    listen: file.listen,
    admin: admin.off ? undefined : { host: admin.host, port: admin.port },
    dataDir,
    durability: file.durability,
    allowedOrigins: file.allowed_origins,
    auth: file.auth && { keys: file.auth.keys, ownerMismatch: file.auth.owner_mismatch },
    limits: {
      bodyBytes: limits.body_bytes,
      receiveTimeout: limits.receive_timeout,
      requestTimeout: limits.request_timeout,
      shutdownTimeout: limits.shutdown_timeout,
    },
    models: toModels(file.models),
    summarize: file.summarize ?? (file.models.summarize === undefined ? 'extractive' : 'model'),
    log: file.log,
    federation: toFederation(file, dataDir, place),
    events: {
      keep: file.events.keep,
      maxAge: file.events.max_age,
      tail: file.events.tail ? { interval: file.events.tail_interval } : undefined,
    },
    audit: file.audit && toAudit(file.audit, dataDir),
  }
  checkRules(config)
  return deepFreeze(config)
}

function toModels({ prompt, summarize }: ConfigFile['models']): ModelsConfig {
  return { prompt: prompt && toModel(prompt), summarize: summarize && toModel(summarize) }
}

function toModel({ url, model, auth, timeout }: ModelFile): ModelConfig {
  return { url, model, bearer: auth?.bearer, timeout }
}

function toFederation(file: ConfigFile, dataDir: string, { cwd, order }: Place): FederationConfig {
  const { limit, window, k, voters, on_failure } = file.recall
  const { upstreams, tiers } = withEmbedded(file)
  const mapped = inOrder(tiers, order('tiers')).map(([name, tier]) => toTier(name, tier))
  const around = { cwd, dataDir, tiers: mapped }
  return {
    upstreams: inOrder(upstreams, order('upstreams')).map(([name, upstream]) =>
      toUpstream(name, upstream, around),
    ),
    tiers: mapped,
    recall: { limit, window, k, voters, onFailure: on_failure },
  }
}

interface Named {
  readonly upstreams: Readonly<Record<string, UpstreamFile>>
  readonly tiers: Readonly<Record<string, TierFile>>
}

/** A file that names no upstream has the embedded stores, with their tiers. */
function withEmbedded(file: ConfigFile): Named {
  const { upstreams, tiers } = file
  if (upstreams === undefined) {
    if (tiers !== undefined) throw new ConfigError(['tiers'], 'needs upstreams that hold them')
    const { upstreams: stores, tiers: theirs } = checkShape(EMBEDDED)
    return { upstreams: stores ?? {}, tiers: theirs ?? {} }
  }
  if (Object.keys(upstreams).length === 0) {
    throw new ConfigError(['upstreams'], 'must name at least one, or be left out')
  }
  return { upstreams, tiers: tiers ?? {} }
}

/** Entries as the file has them: an object would put names that look like numbers first. */
function inOrder<T>(named: Readonly<Record<string, T>>, order: readonly string[]): [string, T][] {
  const entries = Object.entries(named)
  return entries.sort(([a], [b]) => order.indexOf(a) - order.indexOf(b))
}

function toTier(name: string, file: TierFile): TierConfig {
  return {
    name,
    kind: file.kind,
    upstream: file.upstream,
    upstreamTier: file.upstream_tier ?? name,
    also: file.also,
    capacity: file.capacity,
    spillTo: file.spill_to,
    perSession: file.per_session,
    promoteTo: file.promote_to,
    promoteAfter: file.promote_after,
    halfLife: file.half_life,
    overflow: file.overflow,
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const part of Object.values(value)) deepFreeze(part)
  return Object.freeze(value)
}
