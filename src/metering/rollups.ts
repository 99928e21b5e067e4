import { copyWith } from '../protocol/copy.js'
import { ownerKey } from '../protocol/scope.js'
import type { AskUsage, UsageEvent } from './event.js'

const HOUR_MS = 3_600_000

/** What a line of a table of sums is about: the hour since 1970 in UTC, then texts. `tiers` is JSON, sorted; `owner` as `ownerKey` has it. */
export interface Dimensions {
  readonly hour: number
  readonly caller: string
  readonly owner: string
  readonly method: string
  readonly version: string
  readonly outcome: string
  readonly tiers: string
}

/** The sums of calls, by column. */
export const CALL_SUMS = [
  'calls',
  'records_in',
  'records_out',
  'characters_in',
  'characters_out',
  'vectors_in',
  'vectors_out',
  'tokens',
  'bytes_in',
  'bytes_out',
  'ms',
  'attempts',
] as const

/**
 * The sums of what one upstream was asked in those calls: `asks` that were sent, `failures` without a usable answer, `refusals` that
 * were errors of the upstream, `skipped` asks that were not sent.
 */
export const UPSTREAM_SUMS = [
  'calls',
  'asks',
  'attempts',
  'failures',
  'refusals',
  'skipped',
  'records',
  'ms',
] as const

export type CallSum = (typeof CALL_SUMS)[number]
export type UpstreamSum = (typeof UPSTREAM_SUMS)[number]

/** One line to be added to what stands under the same dimensions. */
export interface CallRow extends Dimensions {
  readonly sums: Readonly<Record<CallSum, number>>
}

export interface UpstreamRow extends Dimensions {
  readonly upstream: string
  readonly sums: Readonly<Record<UpstreamSum, number>>
}

/** What events come to, by their own time; in the order of the keys, so that two who add to one ledger never wait for each other in a circle. */
export function rollUp(events: readonly UsageEvent[]): {
  readonly calls: readonly CallRow[]
  readonly upstreams: readonly UpstreamRow[]
} {
  const calls = new Sums<CallRow>()
  const upstreams = new Sums<UpstreamRow>()
  for (const event of events) {
    const dimensions = dimensionsOf(event)
    const key = JSON.stringify(Object.values(dimensions))
    calls.add(key, callSums(event), (sums) => copyWith(dimensions, { sums }))
    for (const [upstream, asks] of asked(event)) {
      const about = `${key},${JSON.stringify(upstream)}`
      upstreams.add(about, upstreamSums(asks), (sums) => copyWith(dimensions, { upstream, sums }))
    }
  }
  return { calls: calls.rows(), upstreams: upstreams.rows() }
}

function dimensionsOf(event: UsageEvent): Dimensions {
  return {
    hour: hourOf(event.at),
    caller: clean(event.caller),
    owner: clean(ownerKey(event.owner)),
    method: event.method,
    version: event.version,
    outcome: event.outcome,
    tiers: JSON.stringify(event.tiers.map(clean).sort()),
  }
}

/** No database but SQLite takes U+0000 in a text; a picture of it stands for it. */
export function clean(text: string): string {
  return text.includes('\0') ? text.replaceAll('\0', '\u2400') : text
}

/** Hours since 1970. */
function hourOf(at: number): number {
  return Math.floor(at / HOUR_MS)
}

/** What one call adds to the sums of calls. */
export function callSums(event: UsageEvent): CallRow['sums'] {
  return {
    calls: 1,
    records_in: event.recordsIn,
    records_out: event.recordsOut,
    characters_in: event.charactersIn,
    characters_out: event.charactersOut,
    vectors_in: event.vectorsIn,
    vectors_out: event.vectorsOut,
    tokens: event.tokens,
    bytes_in: event.bytesIn,
    bytes_out: event.bytesOut,
    ms: event.ms,
    attempts: event.asks.reduce((sum, { attempts }) => sum + attempts, 0),
  }
}

/** A call may ask one upstream several times. */
function asked({ asks }: UsageEvent): ReadonlyMap<string, readonly AskUsage[]> {
  const byUpstream = new Map<string, AskUsage[]>()
  for (const ask of asks) {
    const before = byUpstream.get(ask.upstream)
    if (before === undefined) byUpstream.set(ask.upstream, [ask])
    else before.push(ask)
  }
  return byUpstream
}

function upstreamSums(asks: readonly AskUsage[]): UpstreamRow['sums'] {
  const sum = (of: (ask: AskUsage) => number) => asks.reduce((total, ask) => total + of(ask), 0)
  return {
    calls: 1,
    asks: sum(({ state }) => (state === 'skipped' ? 0 : 1)),
    attempts: sum(({ attempts }) => attempts),
    failures: sum(({ state }) => (state === 'failed' || state === 'timeout' ? 1 : 0)),
    refusals: sum(({ state }) => (state === 'refused' ? 1 : 0)),
    skipped: sum(({ state }) => (state === 'skipped' ? 1 : 0)),
    records: sum(({ records }) => records),
    ms: sum(({ ms }) => ms),
  }
}

interface Row {
  readonly sums: Readonly<Record<string, number>>
}

/** Rows by what they are about. The first sums of a row are added to, since nobody else has them. */
class Sums<R extends Row> {
  readonly #rows = new Map<string, R>()

  add(key: string, sums: R['sums'], rowOf: (sums: R['sums']) => R): void {
    const row = this.#rows.get(key)
    if (row === undefined) this.#rows.set(key, rowOf(sums))
    else addTo(row.sums, sums)
  }

  rows(): readonly R[] {
    return [...this.#rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
  }
}

function addTo(total: Record<string, number>, sums: Readonly<Record<string, number>>): void {
  for (const name of Object.keys(sums)) total[name] = (total[name] ?? 0) + (sums[name] ?? 0)
}
