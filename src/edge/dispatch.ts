import type { CallReport } from '../protocol/call-report.js'
import { type A2mError, toA2mError } from '../protocol/errors.js'
import type { Ask, Caller, Connection, Context } from '../protocol/memory.js'
import { decode, printError } from '../protocol/rpc.js'
import { type Answer, type Served, serve } from '../protocol/serve.js'
import type { Clock } from '../protocol/time.js'
import type { LimitStanding, Usage } from '../protocol/usage.js'
import type { Observer } from '../telemetry/report.js'
import { traceOf } from './trace.js'

/** One message as it came off a wire, and for whom it is to be done. */
interface Incoming {
  readonly bytes: Uint8Array
  readonly served: Served
  /** The name of the protocol version that serves it. */
  readonly version: string
  readonly caller: Caller
  readonly connection: Connection
  /** A W3C `traceparent` header, where there was one. */
  readonly traceparent?: string | undefined
}

/** One reply on its way out; `bytes` is its length in UTF-8. */
export interface Outgoing {
  readonly text: string
  readonly bytes: number
  /** The limits that the call counted against, for those edges that can tell of them beside a reply. */
  readonly standings: readonly LimitStanding[]
}

/** Answers one message: at most one reply, never a throw. */
export type Dispatch = (incoming: Incoming) => Promise<Outgoing | undefined>

export interface DispatchOptions {
  readonly clock: Clock
  /** The longest that anything waits for one call, in ms. */
  readonly requestMs: number
  readonly observer: Observer
  readonly newTrace: () => string
  /** Keeps what a call used where it outlives the process. The reply waits for it; it never rejects. */
  readonly keep?: ((report: CallReport) => Promise<void> | undefined) | undefined
}

/** Gives every message its context and makes the one report of it. */
export function createDispatch(options: DispatchOptions): Dispatch {
  const { clock, observer, keep } = options
  return async (incoming) => {
    const start = clock.monotonic()
    const at = clock.now()
    const told: Told = { asks: [], standings: [], usage: undefined }
    const context = contextOf(incoming, { options, start, told })
    observer.started()
    const answer = await answerTo(incoming, context)
    const reply = measured(answer.reply, told.standings)
    const report: CallReport = {
      method: answer.method,
      version: incoming.version,
      error: answer.error,
      ms: clock.monotonic() - start,
      at,
      bytesIn: incoming.bytes.byteLength,
      bytesOut: reply?.bytes ?? 0,
      asks: told.asks,
      usage: told.usage,
      caller: incoming.caller,
      trace: context.trace,
      ending: endingOf(incoming, reply),
    }
    tell(observer, report)
    const kept = keep?.(report)
    if (kept !== undefined) await kept
    return reply
  }
}

/** A fault in counting is not the caller's. */
export function tell(observer: Observer, report: CallReport): void {
  try {
    observer.finished(report)
  } catch {
    return
  }
}

/** What a call has told through its context. */
interface Told {
  readonly asks: Ask[]
  readonly standings: LimitStanding[]
  usage: Usage | undefined
}

interface Beginning {
  readonly options: DispatchOptions
  readonly start: number
  readonly told: Told
}

function contextOf(incoming: Incoming, { options, start, told }: Beginning): Context {
  return {
    caller: incoming.caller,
    cancellation: incoming.connection.closed,
    deadline: start + options.requestMs,
    connection: incoming.connection,
    // Set in a copy for every caller with roles, which costs a tenth where the name is there.
    called: undefined,
    trace: traceOf(incoming.traceparent) ?? options.newTrace(),
    observe: (ask) => {
      told.asks.push(ask)
    },
    used: (usage) => {
      told.usage = usage
    },
    limited: (standing) => {
      told.standings.push(standing)
    },
  }
}

async function answerTo({ bytes, served }: Incoming, context: Context): Promise<Answer> {
  try {
    return await serve(decode(bytes), served, context)
  } catch (thrown) {
    return refusal(toA2mError(thrown))
  }
}

function refusal(error: A2mError): Answer {
  return { reply: printError(null, error), method: undefined, error }
}

function measured(
  text: string | undefined,
  standings: readonly LimitStanding[],
): Outgoing | undefined {
  return text === undefined ? undefined : { text, bytes: Buffer.byteLength(text), standings }
}

function endingOf({ connection }: Incoming, reply: Outgoing | undefined): CallReport['ending'] {
  if (connection.closed.cancelled) return 'hung_up'
  return reply === undefined ? 'silent' : 'answered'
}
