import { Cancellation } from '../../src/protocol/cancellation.js'
import type { Context } from '../../src/protocol/memory.js'
import { systemClock } from '../../src/protocol/time.js'

/** A context of a caller with every scope that ends after `limit` ms. */
export function contextWithin(limit: number, cancellation = new Cancellation()): Context {
  return {
    caller: { name: 'tester', roles: [], scope: { kind: 'all' } },
    cancellation,
    deadline: systemClock.monotonic() + limit,
    connection: { closed: new Cancellation() },
    trace: '0'.repeat(32),
    observe: () => {},
  }
}
