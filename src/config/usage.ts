import { resolve } from 'node:path'
import { z } from 'zod'
import { ConfigError } from './errors.js'
import {
  duration,
  expected,
  httpUrl,
  lifetime,
  named,
  oneOf,
  size,
  strict,
  text,
  whole,
} from './values.js'

/** Where usage is kept: a file in `data_dir`, or a database that several gateways share. */
export type UsageLedgerConfig =
  | { readonly kind: 'sqlite' }
  | { readonly kind: 'postgres'; readonly url: string; readonly timeout: number }

/** Where usage events go besides. Sizes in bytes, times in ms, paths absolute. */
export type UsageSinkConfig =
  | {
      readonly kind: 'cloud-events'
      readonly name: string
      readonly url: string
      readonly bearer: string | undefined
      readonly type: string
      readonly subject: 'owner' | 'caller'
      readonly batch: number
      readonly timeout: number
    }
  | {
      readonly kind: 'json-lines'
      readonly name: string
      readonly path: string
      readonly maxBytes: number
      readonly keep: number
    }

/** How usage is metered. */
export interface UsageConfig {
  readonly ledger: UsageLedgerConfig
  /** Ms that single events are kept for; their sums stay for good. */
  readonly keep: number
  /** What becomes of calls while their usage cannot be kept. */
  readonly onFailure: 'continue' | 'stop'
  /** By how many characters a token is estimated. */
  readonly charactersPerToken: number
  /** The most bytes on disk that wait for the ledger, and every how many ms it is given them. */
  readonly spool: { readonly maxBytes: number; readonly interval: number }
  /** The most events that wait in memory while the disk takes none. */
  readonly heldEvents: number
  /** The hour of the day, in UTC, after which owners' records are counted; undefined: they are not. */
  readonly countAt: number | undefined
  readonly sinks: readonly UsageSinkConfig[]
}

const MIB = 1024 * 1024

const postgresUrl = text.refine(
  (written) => URL.canParse(written) && /^postgres(ql)?:$/.test(new URL(written).protocol),
  'must be a postgres:// URL',
)

const sink = strict({
  cloudevents: httpUrl.optional(),
  auth: strict({ bearer: text }).optional(),
  type: text.optional(),
  subject: oneOf(['owner', 'caller']).optional(),
  batch: whole(1, 1000).optional(),
  timeout: duration.optional(),
  jsonl: text.optional(),
  max_size: size.optional(),
  keep: whole(1, 10_000).optional(),
})

const charactersPerToken = z
  .number(expected('must be a number from 0.1 to 100'))
  .min(0.1, 'must be a number from 0.1 to 100')
  .max(100, 'must be a number from 0.1 to 100')

/** YAML reads `off` as a text or as false, by its version. */
const hour = z
  .unknown()
  .transform((value) => (value === 'off' || value === false ? 'off' : Number(value)))
  .refine(
    (read) => read === 'off' || (Number.isInteger(read) && read >= 0 && read <= 23),
    'must be an hour from 0 to 23, or off',
  )

/** `usage`. */
export const usage = z
  .preprocess(
    (value) => (value === false || value === 'off' ? { off: true } : value),
    strict({
      off: z.literal(true).optional(),
      ledger: strict({ postgres: postgresUrl, timeout: duration.default(10_000) }).optional(),
      keep: lifetime.default(90 * 86_400_000),
      on_failure: oneOf(['continue', 'stop']).default('continue'),
      characters_per_token: charactersPerToken.default(4),
      spool: strict({
        max_size: size.default(1024 * MIB),
        interval: duration.default(1000),
      }).prefault({}),
      held_events: whole(0, 1_000_000).default(10_000),
      count_at: hour.default(3),
      sinks: named(sink).default({}),
    }),
  )
  .prefault({})

type UsageFile = z.output<typeof usage>
type SinkFile = z.output<typeof sink>

/** Undefined: usage is not metered. Throws a `ConfigError` where one value does not go with another. */
export function toUsage(file: UsageFile, dataDir: string): UsageConfig | undefined {
  if (file.off) return undefined
  const { ledger, spool, count_at: countAt } = file
  return {
    ledger:
      ledger === undefined
        ? { kind: 'sqlite' }
        : { kind: 'postgres', url: ledger.postgres, timeout: ledger.timeout },
    keep: file.keep,
    onFailure: file.on_failure,
    charactersPerToken: file.characters_per_token,
    spool: { maxBytes: spool.max_size, interval: spool.interval },
    heldEvents: file.held_events,
    countAt: countAt === 'off' ? undefined : countAt,
    sinks: Object.entries(file.sinks).map(([name, one]) => toSink(name, one, dataDir)),
  }
}

/** What belongs to one kind of sink alone. */
const OF_CLOUDEVENTS = ['auth', 'type', 'subject', 'batch', 'timeout'] as const
const OF_JSONL = ['max_size', 'keep'] as const

function toSink(name: string, file: SinkFile, dataDir: string): UsageSinkConfig {
  const { cloudevents: url, jsonl } = file
  const path = ['usage', 'sinks', name]
  if ((url === undefined) === (jsonl === undefined)) {
    throw new ConfigError(path, 'needs either cloudevents, a URL, or jsonl, the name of a file')
  }
  const misplaced = (url === undefined ? OF_CLOUDEVENTS : OF_JSONL).find(
    (key) => file[key] !== undefined,
  )
  if (misplaced !== undefined) {
    const kind = url === undefined ? 'cloudevents' : 'jsonl'
    throw new ConfigError([...path, misplaced], `is for sinks with ${kind} alone`)
  }
  return url === undefined
    ? toJsonLines(name, { ...file, jsonl: jsonl ?? '' }, dataDir)
    : toCloudEvents(name, { ...file, cloudevents: url })
}

function toJsonLines(
  name: string,
  { jsonl, max_size: maxBytes = 64 * MIB, keep = 10 }: SinkFile & { readonly jsonl: string },
  dataDir: string,
): UsageSinkConfig {
  return { kind: 'json-lines', name, path: resolve(dataDir, jsonl), maxBytes, keep }
}

function toCloudEvents(
  name: string,
  file: SinkFile & { readonly cloudevents: string },
): UsageSinkConfig {
  const { cloudevents: url, auth, type = 'a2m.call', subject = 'owner' } = file
  const { batch = 100, timeout = 10_000 } = file
  return { kind: 'cloud-events', name, url, bearer: auth?.bearer, type, subject, batch, timeout }
}
