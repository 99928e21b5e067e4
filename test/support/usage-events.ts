import type { UsageEvent } from '../../src/metering/event.js'

/** 2026-03-01T10:00:00Z. */
export const TEN = Date.UTC(2026, 2, 1, 10)

let made = 0

/** An event of its own id; what is not said is of no interest. */
export function usageEvent(said: Partial<UsageEvent> = {}): UsageEvent {
  return {
    id: `event-${++made}`,
    at: TEN,
    caller: 'agent-a',
    owner: 'alice',
    method: 'memory/recall',
    version: 'a2m/0.1',
    outcome: 'ok',
    tiers: [],
    asks: [],
    recordsIn: 0,
    recordsOut: 0,
    charactersIn: 0,
    charactersOut: 0,
    vectorsIn: 0,
    vectorsOut: 0,
    tokens: 0,
    bytesIn: 10,
    bytesOut: 20,
    ms: 1.5,
    ...said,
  }
}
