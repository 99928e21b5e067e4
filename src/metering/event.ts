import type { CallReport } from '../protocol/call-report.js'
import { CODES } from '../protocol/errors.js'
import type { Ask } from '../protocol/memory.js'
import type { Owner } from '../protocol/scope.js'
import { ownerOfScope } from './whose.js'

/** One ask of an upstream within a call; `failed` and `timeout` are that upstream's, whatever became of the call. */
export interface AskUsage {
  readonly upstream: string
  /** Requests sent, retries included; 0 where it was left out. */
  readonly attempts: number
  readonly state: Ask['state']
  readonly records: number
  readonly ms: number
}

/** What one call used, once for all: whoever has its `id` has counted it. Characters are code points of contents. */
export interface UsageEvent {
  /** A UUIDv7. */
  readonly id: string
  /** Ms since 1970, when the call came in. */
  readonly at: number
  readonly caller: string
  readonly owner: Owner
  /** `none` where the message named no method that exists. */
  readonly method: string
  readonly version: string
  /** `ok`, the name of the error, or `hung_up` where the caller had left before. */
  readonly outcome: string
  readonly tiers: readonly string[]
  readonly asks: readonly AskUsage[]
  readonly recordsIn: number
  readonly recordsOut: number
  readonly charactersIn: number
  readonly charactersOut: number
  readonly vectorsIn: number
  readonly vectorsOut: number
  /** Estimated: characters in and out by the configured number of characters a token, rounded up. */
  readonly tokens: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly ms: number
}

export interface EventOptions {
  readonly newId: () => string
  readonly charactersPerToken: number
}

/** Makes the event of a call from its report. */
export function createEvents({ newId, charactersPerToken }: EventOptions) {
  return (report: CallReport): UsageEvent => {
    const { usage, caller, asks } = report
    const charactersIn = usage?.charactersIn ?? 0
    const charactersOut = usage?.charactersOut ?? 0
    return {
      id: newId(),
      at: report.at,
      caller: caller.name,
      owner: usage === undefined ? ownerOfScope(caller.scope) : usage.owner,
      method: report.method ?? 'none',
      version: report.version,
      outcome: outcomeOf(report),
      tiers: usage?.tiers ?? [],
      asks: asks.map(askUsage),
      recordsIn: usage?.recordsIn ?? 0,
      recordsOut: usage?.recordsOut ?? 0,
      charactersIn,
      charactersOut,
      vectorsIn: usage?.vectorsIn ?? 0,
      vectorsOut: usage?.vectorsOut ?? 0,
      tokens: Math.ceil((charactersIn + charactersOut) / charactersPerToken),
      bytesIn: report.bytesIn,
      bytesOut: report.bytesOut,
      ms: thousandths(report.ms),
    }
  }
}

const OUTCOMES: ReadonlyMap<number, string> = new Map(
  Object.entries(CODES).map(([name, code]) => [code, name]),
)

function outcomeOf({ error, ending }: CallReport): string {
  if (ending === 'hung_up') return 'hung_up'
  return error === undefined ? 'ok' : (OUTCOMES.get(error.code) ?? 'OTHER')
}

function askUsage({ upstream, attempts, state, count, ms }: Ask): AskUsage {
  return { upstream, attempts, state, records: count, ms: thousandths(ms) }
}

function thousandths(ms: number): number {
  return Math.round(ms * 1000) / 1000
}

/** One line, without its end. An owner that is undefined is left out. */
export function printEvent(event: UsageEvent): string {
  return JSON.stringify(event)
}

/** Reads a line back; undefined where it is torn or no event. */
export function readEvent(line: string): UsageEvent | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isEvent(value) ? value : undefined
  } catch {
    return undefined
  }
}

const NUMBERS = [
  'at',
  'recordsIn',
  'recordsOut',
  'charactersIn',
  'charactersOut',
  'vectorsIn',
  'vectorsOut',
  'tokens',
  'bytesIn',
  'bytesOut',
  'ms',
] as const
const TEXTS = ['id', 'caller', 'method', 'version', 'outcome'] as const

function isEvent(value: unknown): value is UsageEvent {
  if (typeof value !== 'object' || value === null) return false
  const fields = value as Readonly<Record<string, unknown>>
  return (
    NUMBERS.every((name) => Number.isFinite(fields[name])) &&
    TEXTS.every((name) => typeof fields[name] === 'string') &&
    Array.isArray(fields['tiers']) &&
    Array.isArray(fields['asks'])
  )
}
