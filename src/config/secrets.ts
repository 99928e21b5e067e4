import type { ModelsConfig, UpstreamConfig } from './config.js'
import type { QuotasConfig } from './quotas.js'
import type { UsageConfig } from './usage.js'
import type { VersionConfig } from './versions.js'

/** What is shorter in a child's environment is hardly a secret, and taking it out would garble every line. */
const SHORTEST_SECRET = 8

/** Texts that only the gateway and this upstream may know: its credential there, or what a child is given. */
export function secretsOf({ connect }: UpstreamConfig): readonly string[] {
  if (connect.kind === 'http') return connect.bearer === undefined ? [] : [connect.bearer]
  if (connect.kind === 'store') return []
  return Object.values(connect.env).filter((value) => value.length >= SHORTEST_SECRET)
}

/** The gateway's credentials at the models that it asks. */
export function secretsOfModels({ prompt, summarize }: ModelsConfig): readonly string[] {
  return [prompt, summarize].flatMap((model) => model?.bearer ?? [])
}

/** The gateway's credentials at the servers that versions are passed on to. */
export function secretsOfVersions(versions: readonly VersionConfig[]): readonly string[] {
  return versions.flatMap(({ serves }) => (serves.kind === 'upstream' ? (serves.bearer ?? []) : []))
}

/** What the ledger and the sinks of usage are shown. */
export function secretsOfUsage(usage: UsageConfig | undefined): readonly string[] {
  const { ledger, sinks = [] } = usage ?? {}
  const password = ledger?.kind === 'postgres' ? new URL(ledger.url).password : ''
  const bearers = sinks.flatMap((sink) => (sink.kind === 'cloud-events' ? (sink.bearer ?? '') : ''))
  return [password, decodeURIComponent(password), ...bearers].filter((text) => text)
}

/** What Redis and the webhook of limits are shown. */
export function secretsOfQuotas(quotas: QuotasConfig | undefined): readonly string[] {
  const { redis, webhook } = quotas ?? {}
  const password = redis === undefined ? '' : new URL(redis.url).password
  return [password, decodeURIComponent(password), webhook?.bearer ?? ''].filter((text) => text)
}
