import type { Span } from './quota-window.js'

/** What is counted together: of one limit, for one subject, in one window. */
export interface Count {
  readonly id: string
  readonly span: Span
  readonly subject: string
}

/** How long a key outlives its window at least, in ms: the clocks of gateways may be apart by as much. */
const GRACE_MS = 60_000
/** How much longer, at most, should a clock go back. */
const LONGEST_MS = 3_600_000

/** Where it is counted in Redis. The braces keep all keys of a deployment on one node of a cluster. */
export function keyOf(prefix: string, { id, span, subject }: Count): string {
  return `{${prefix}}:quota:${id}:${span.start}:${subject}`
}

/** For how many ms from now on a key is needed. Counted from now, since the clock of Redis may be another. */
export function lifeOf({ start, end }: Span, now: number): number {
  return Math.max(0, end - now) + Math.min(end - start, LONGEST_MS) + GRACE_MS
}
