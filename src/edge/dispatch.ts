import { type A2mError, toA2mError } from '../protocol/errors.js'
import type { Ask, Caller, Connection, Context } from '../protocol/memory.js'
import { decode, printError } from '../protocol/rpc.js'
import { type Answer, type Served, serve } from '../protocol/serve.js'
import type { Clock } from '../protocol/time.js'
import type { CallReport, Observer } from '../telemetry/report.js'
import { traceOf } from './trace.js'

/** One message as it came off a wire, and for whom it is to be done. */
interface Incoming {
  readonly bytes: Uint8Array
  readonly served: Served
  readonly caller: Caller
  readonly connection: Connection
  /** A W3C `traceparent` header, where there was one. */
  readonly traceparent?: string | undefined
}

/** One reply on its way out; `bytes` is its length in UTF-8. */
export interface Outgoing {
  readonly text: string
  readonly bytes: number
}

/** Answers one message: at most one reply, never a throw. */
export type Dispatch = (incoming: Incoming) => Promise<Outgoing | undefined>

export interface DispatchOptions {
  readonly clock: Clock
  /** The longest that anything waits for one call, in ms. */
  readonly requestMs: number
  readonly observer: Observer
  readonly newTrace: () => string
}

/** Gives every message its context and makes the one report of it. */
export function createDispatch(options: DispatchOptions): Dispatch {
  const { clock, observer } = options
  return async (incoming) => {
    const start = clock.monotonic()
    const asks: Ask[] = []
    const context = contextOf(incoming, { options, start, asks })
    observer.started()
    const answer = await answerTo(incoming, context)
    const reply = measured(answer.reply)
    tell(observer, {
      method: answer.method,
      error: answer.error,
      ms: clock.monotonic() - start,
      bytesIn: incoming.bytes.byteLength,
      bytesOut: reply?.bytes ?? 0,
      asks,
      caller: incoming.caller,
      trace: context.trace,
      ending: endingOf(incoming, reply),
    })
    return reply
  }
}

/** A fault in counting is not the caller's. */
function tell(observer: Observer, report: CallReport): void {
  try {
    observer.finished(report)
  } catch {
    return
  }
}

interface Beginning {
  readonly options: DispatchOptions
  readonly start: number
  readonly asks: Ask[]
}

function contextOf(incoming: Incoming, { options, start, asks }: Beginning): Context {
  return {
    caller: incoming.caller,
    cancellation: incoming.connection.closed,
    deadline: start + options.requestMs,
    connection: incoming.connection,
    trace: traceOf(incoming.traceparent) ?? options.newTrace(),
    observe: (ask) => {
      asks.push(ask)
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

function measured(text: string | undefined): Outgoing | undefined {
  return text === undefined ? undefined : { text, bytes: Buffer.byteLength(text) }
}

function endingOf({ connection }: Incoming, reply: Outgoing | undefined): CallReport['ending'] {
  if (connection.closed.cancelled) return 'hung_up'
  return reply === undefined ? 'silent' : 'answered'
}
