import { Cancellation } from '../../src/protocol/cancellation.js'
import { type Ask, type Context, GATEWAY_ROLE, type Scope } from '../../src/protocol/memory.js'
import { systemClock } from '../../src/protocol/time.js'

/** A call of somebody with this scope, who waits for five seconds. */
export function contextOf(scope: Scope, over: Partial<Context> = {}): Context {
  return {
    caller: { name: 'tester', roles: [], scope },
    cancellation: new Cancellation(),
    deadline: systemClock.monotonic() + 5000,
    connection: { closed: new Cancellation() },
    trace: '0'.repeat(32),
    observe: () => {},
    ...over,
  }
}

export function ownerContext(owner: string, over: Partial<Context> = {}): Context {
  return contextOf({ kind: 'owners', owners: [owner] }, over)
}

export const anyContext = (over: Partial<Context> = {}): Context => contextOf({ kind: 'all' }, over)

/** The same call as one of a gateway that may act for every owner. */
export function gatewayContext(context: Context): Context {
  return { ...context, caller: { name: 'gateway', roles: [GATEWAY_ROLE], scope: { kind: 'all' } } }
}

/** A context that keeps what it is told of asks. */
export function observed(context: Context): { readonly context: Context; readonly asks: Ask[] } {
  const asks: Ask[] = []
  return { context: { ...context, observe: (ask) => asks.push(ask) }, asks }
}
