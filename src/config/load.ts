import { resolve } from 'node:path'
import { toAudit } from './audit.js'
import { toAuth, toTls } from './auth.js'
import type { Config, ModelConfig, ModelsConfig } from './config.js'
import { type Environment, fillIn } from './environment.js'
import { ConfigError, type Path } from './errors.js'
import { type FilePlace, inOrder, toEvents, toFederation, toFederations } from './federations.js'
import { toQuotas } from './quotas.js'
import { checkRoles, toRoles } from './roles.js'
import { checkRules } from './rules.js'
import { type ConfigFile, fileSchema, type ModelFile } from './schema.js'
import { toSigning } from './signing.js'
import { toUsage } from './usage.js'
import { foremost } from './values.js'
import { checkVersions } from './version-rules.js'
import { toVersions } from './versions.js'
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
    const place = { cwd, order, source: resolve(cwd, file) }
    return finish(withListen(checkShape(filled.value), source.listen), place)
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

interface Place extends Pick<FilePlace, 'cwd' | 'order'> {
  /** The file that it was read from, absolute. */
  readonly source?: string
}

function finish(file: ConfigFile, place: Place): Config {
  const dataDir = resolve(place.cwd, file.data_dir)
  const { limits, admin } = file
  const config: Config = {
    name: file.name,
    listen: { ...file.listen, tls: file.listen.tls && toTls(file.listen.tls, place.cwd) },
    admin: admin.off ? undefined : { host: admin.host, port: admin.port },
    dataDir,
    durability: file.durability,
    allowedOrigins: file.allowed_origins,
    auth: file.auth && toAuth(file.auth, place.cwd),
    limits: {
      bodyBytes: limits.body_bytes,
      receiveTimeout: limits.receive_timeout,
      requestTimeout: limits.request_timeout,
      shutdownTimeout: limits.shutdown_timeout,
    },
    quotas: file.quotas && toQuotas(file.quotas),
    models: toModels(file.models),
    summarize: file.summarize ?? (file.models.summarize === undefined ? 'extractive' : 'model'),
    log: file.log,
    federation: toFederation(file, { ...place, dataDir }),
    events: toEvents(file.events),
    federations: toFederations(file.federations, { ...place, dataDir }),
    versions: toVersions(file.versions && inOrder(file.versions, place.order('versions'))),
    roles: file.roles && toRoles(inOrder(file.roles, place.order('roles'))),
    audit: file.audit && toAudit(file.audit, dataDir),
    signing: toSigning(file.signing, file.name),
    usage: toUsage(file.usage, dataDir),
  }
  checkRules(config, place.source)
  checkRoles(config)
  checkVersions(config, file.upstreams === undefined ? 'nothing' : 'upstreams')
  return deepFreeze(config)
}

function toModels({ prompt, summarize }: ConfigFile['models']): ModelsConfig {
  return { prompt: prompt && toModel(prompt), summarize: summarize && toModel(summarize) }
}

function toModel({ url, model, auth, timeout }: ModelFile): ModelConfig {
  return { url, model, bearer: auth?.bearer, timeout }
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const part of Object.values(value)) deepFreeze(part)
  return Object.freeze(value)
}
