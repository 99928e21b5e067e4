import { formatInstant } from '../protocol/time.js'
import type { UsageEvent } from './event.js'
import { callSums } from './rollups.js'
import type { Sink } from './sink.js'

export interface CloudEventsOptions {
  readonly name: string
  readonly url: string
  /** The credential there, if it wants one; never to be in a message. */
  readonly bearer: string | undefined
  readonly type: string
  /** The gateway, by its name. */
  readonly source: string
  /** Who is to be billed: the owner of the records, or the caller. A call that is about no one owner is the caller's. */
  readonly subject: 'owner' | 'caller'
  readonly batch: number
  readonly timeout: number
}

/** One CloudEvent 1.0 in structured JSON, as OpenMeter takes it: `data` holds what a meter can sum or group by. */
function cloudEvent(event: UsageEvent, options: CloudEventsOptions) {
  const owner = typeof event.owner === 'string' ? event.owner : undefined
  return {
    specversion: '1.0',
    id: event.id,
    type: options.type,
    source: options.source,
    subject: (options.subject === 'owner' ? owner : undefined) ?? event.caller,
    time: formatInstant(event.at),
    datacontenttype: 'application/json',
    data: {
      caller: event.caller,
      owner: owner ?? null,
      method: event.method,
      version: event.version,
      outcome: event.outcome,
      tiers: event.tiers,
      upstreams: event.asks.map(({ upstream }) => upstream),
      ...callSums(event),
    },
  }
}

/** Says of these that the very events are wrong; anything else may pass another time. */
const REFUSING: ReadonlySet<number> = new Set([400, 413, 422])

/** Posts events in batches. A batch that is refused is sent in halves, down to the one event that is, which is given up. */
export function createCloudEventsSink(options: CloudEventsOptions): Sink {
  const send = async (events: readonly UsageEvent[]): Promise<number> => {
    const status = await post(events, options)
    if (status >= 200 && status < 300) return 0
    if (!REFUSING.has(status)) throw new Error(`it answered with status ${status}`)
    if (events.length === 1) return 1
    const half = Math.ceil(events.length / 2)
    return (await send(events.slice(0, half))) + (await send(events.slice(half)))
  }
  return { name: options.name, batch: options.batch, send }
}

async function post(events: readonly UsageEvent[], options: CloudEventsOptions): Promise<number> {
  const response = await fetch(options.url, {
    method: 'POST',
    redirect: 'manual',
    signal: AbortSignal.timeout(options.timeout),
    headers: {
      'content-type': 'application/cloudevents-batch+json',
      ...(options.bearer === undefined ? {} : { authorization: `Bearer ${options.bearer}` }),
    },
    body: JSON.stringify(events.map((event) => cloudEvent(event, options))),
  }).catch((thrown: unknown) => {
    throw new Error(whyUnreached(thrown))
  })
  await response.body?.cancel()
  return response.status
}

/** By the code alone: messages may repeat an address, and what stands in it. */
function whyUnreached(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'it cannot be reached'
  if (thrown.name === 'TimeoutError') return 'it did not answer in time'
  const { cause } = thrown
  const code = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : ''
  return `it cannot be reached${code}`
}
