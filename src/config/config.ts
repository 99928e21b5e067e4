import type { RoleDefinitions } from '../protocol/access.js'
import type { AuditConfig } from './audit.js'
import type { AuthConfig, TlsConfig } from './auth.js'
import type { QuotasConfig } from './quotas.js'
import type { SigningConfig } from './signing.js'
import type { UsageConfig } from './usage.js'
import type { VersionConfig } from './versions.js'

/** How an upstream is reached: over HTTP, as a child on stdio, or as a built-in store (absolute path of its file). */
export type ConnectConfig =
  | {
      readonly kind: 'http'
      readonly url: string
      readonly bearer: string | undefined
      readonly connections: number
    }
  | {
      readonly kind: 'stdio'
      readonly command: readonly [string, ...string[]]
      /** The child's whole environment beyond what it needs to start. */
      readonly env: Readonly<Record<string, string>>
      readonly cwd: string | undefined
    }
  | {
      readonly kind: 'store'
      readonly path: string
      /** How vectors are compared; undefined: as its file says. */
      readonly metric?: 'cosine' | 'dot' | 'l2' | undefined
      /** The names, as the store has them, of the tiers that are mapped to it. */
      readonly tiers: readonly string[]
    }

/** One memory behind the gateway. Times are in ms, sizes in bytes; undefined is decided by what the upstream declares. */
export interface UpstreamConfig {
  readonly name: string
  readonly connect: ConnectConfig
  /** How a caller's owner reaches it: as the `owner` parameter, as the subject of a token, in reserved metadata, or not at all. */
  readonly owner: 'parameter' | 'token' | 'metadata' | 'none' | undefined
  /** Whom tokens for it are for; undefined: the origin of its URL. */
  readonly audience?: string | undefined
  readonly access: 'read-only' | 'read-write' | undefined
  /** `foreign` where the upstream numbers its records itself; undefined: when it is read-only and no built-in store. */
  readonly ids: 'own' | 'foreign' | undefined
  readonly timeout: number
  /** Asks in flight at once; more of them wait within their deadline. */
  readonly concurrency: number
  /** Further attempts at what is safe to repeat. */
  readonly retries: number
  /** Failures in a row that open it, and the ms after which it is tried again. */
  readonly breaker: { readonly failures: number; readonly reset: number }
  readonly maxReplyBytes: number
  /** Ms between two readings of its profile. */
  readonly refresh: number
}

/** One tier and where its records live. */
export interface TierConfig {
  readonly name: string
  readonly kind: string | undefined
  readonly upstream: string
  /** What that upstream calls the tier. */
  readonly upstreamTier: string
  /** Further upstreams that are read for this tier and never written to. */
  readonly also: readonly string[]
  /** Records an owner may have in it, where `perSession` of each session; 0 is unbounded. */
  readonly capacity: number
  readonly perSession: boolean
  readonly spillTo: string | undefined
  readonly promoteTo: string | undefined
  /** Uses after which consolidate takes a record to `promoteTo`. */
  readonly promoteAfter: number | undefined
  /** Ms in which a record that is not used loses half its weight; with it the weakest spill first, else the oldest. */
  readonly halfLife: number | undefined
  /** What consolidate does with records over capacity where there is no `spillTo`. */
  readonly overflow: 'keep' | 'drop'
}

/** How recall merges: records it returns unless told, records asked of each upstream, and the fusion's constants. */
export interface RecallConfig {
  readonly limit: number
  readonly window: number
  readonly k: number
  readonly voters: { readonly lexical: number; readonly vector: number }
  readonly onFailure: 'partial' | 'fail'
}

/** Many memories as one. Upstreams and tiers are in the order of the file; with no tiers, the upstreams' own are taken. */
export interface FederationConfig {
  readonly upstreams: readonly UpstreamConfig[]
  readonly tiers: readonly TierConfig[]
  readonly recall: RecallConfig
}

/** A federation beside the one at the top of the file. */
export interface NamedFederation {
  readonly name: string
  /** Absolute: a folder of its own for its state and its built-in stores. */
  readonly dataDir: string
  readonly federation: FederationConfig
  readonly events: EventsConfig
}

/** The event log: how many events are kept and for how many ms, and every how many ms those of upstreams are read, if at all. */
export interface EventsConfig {
  readonly keep: number
  readonly maxAge: number
  readonly tail: { readonly interval: number } | undefined
}

/** The gateway's own file in `data_dir`, beside those of the built-in stores. */
export const STATE_FILE = 'gateway.db'
/** The counts of limits, in the same place. */
/** The ledger of usage in `data_dir`, where it is in no database elsewhere, and the folder of its spool. */
export const USAGE_FILE = 'usage.db'
export const USAGE_SPOOL = 'usage'

export const QUOTA_FILE = 'quotas.db'

export const LOG_LEVELS = ['silent', 'error', 'warn', 'info', 'debug'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** What one request may cost. Times in ms. */
export interface LimitsConfig {
  readonly bodyBytes: number
  /** A request must have arrived whole by then. */
  readonly receiveTimeout: number
  /** A call is answered by then, waiting for upstreams included. */
  readonly requestTimeout: number
  /** How long a stopping gateway waits for the calls in flight. */
  readonly shutdownTimeout: number
}

/** A text model at an endpoint of OpenAI's chat shape; `url` is what `/chat/completions` stands under, `timeout` in ms. */
export interface ModelConfig {
  readonly url: string
  readonly model: string
  readonly bearer: string | undefined
  readonly timeout: number
}

/** The models that are asked, and for what; undefined is none. */
export interface ModelsConfig {
  readonly prompt: ModelConfig | undefined
  readonly summarize: ModelConfig | undefined
}

/** The whole configuration, checked, with every default filled in and frozen. */
export interface Config {
  readonly name: string
  readonly listen: {
    readonly host: string
    readonly port: number
    readonly path: string
    readonly tls: TlsConfig | undefined
  }
  readonly admin: { readonly host: string; readonly port: number } | undefined
  /** Absolute. */
  readonly dataDir: string
  /** `full` also survives loss of power, at the cost of a disk flush for every write. */
  readonly durability: 'normal' | 'full'
  readonly allowedOrigins: readonly string[]
  readonly auth: AuthConfig | undefined
  readonly limits: LimitsConfig
  /** Undefined: callers may use as much as they like. */
  readonly quotas: QuotasConfig | undefined
  readonly models: ModelsConfig
  /** What makes summaries; with `model`, `models.summarize` is there. */
  readonly summarize: 'extractive' | 'model' | 'off'
  readonly log: { readonly level: LogLevel; readonly calls: boolean }
  readonly federation: FederationConfig
  readonly events: EventsConfig
  /** In the order of the file. */
  readonly federations: readonly NamedFederation[]
  /** At least one; the first serves requests that name none. */
  readonly versions: readonly VersionConfig[]
  /** Undefined: none is kept. */
  /** What roles grant; undefined: they are labels, and everyone may do everything in its scope. */
  readonly roles: RoleDefinitions | undefined
  readonly audit: AuditConfig | undefined
  readonly signing: SigningConfig
  /** Undefined: it is not metered. */
  readonly usage: UsageConfig | undefined
}
