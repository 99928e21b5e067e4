import { formatInstant } from '../protocol/time.js'
import type { Audit } from './audit-log.js'
import type { Observer } from './report.js'

export interface StrangersOptions {
  readonly audit: Audit
  /** Wall time in ms since 1970. */
  readonly now: () => number
  /** Runs something so many ms later. */
  readonly schedule: (run: () => void, delay: number) => void
}

/** Told of requests that were refused before anybody knew who sends them; where a version was chosen, that was known. */
export interface Strangers extends Observer {
  /** Tells what has been counted and not told yet. */
  flush(): void
}

/** Statuses that say that a request may not. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403])
/** Further refusals of one address within this time are told in one line, in ms. */
const WINDOW_MS = 10_000
/** Addresses that are counted apart at once; those beyond are told together. */
const MOST_ADDRESSES = 1000

interface Count {
  readonly status: number
  readonly remote: string
  /** When the first was that has not been told yet, in ms since 1970. */
  since: number
  times: number
}

/**
 * Tells the audit log of requests without valid credentials (401) and from places that are not let in (403): the first of an address
 * at once, others within ten seconds by their number, so that nobody can fill the log and push out what matters.
 */
export function createStrangers({ audit, now, schedule }: StrangersOptions): Strangers {
  const counts = new Map<string, Count>()
  const flush = (): void => {
    for (const count of counts.values()) tell(audit, count)
    counts.clear()
  }
  const begin = (status: number, remote: string): void => {
    if (counts.size === 0) schedule(flush, WINDOW_MS)
    counts.set(`${status} ${remote}`, { status, remote, since: now(), times: 0 })
    audit.write({ status, remote, outcome: 'refused' })
  }
  return {
    started() {},
    finished() {},
    refused(status, version, remote = 'unknown') {
      if (version !== undefined || !REFUSALS.has(status)) return
      const address = isKnown(remote) ? remote : 'others'
      const count = counts.get(`${status} ${address}`)
      if (count === undefined) return begin(status, address)
      if (count.times++ === 0) count.since = now()
    },
    flush,
  }

  function isKnown(remote: string): boolean {
    return (
      counts.size < MOST_ADDRESSES || counts.has(`401 ${remote}`) || counts.has(`403 ${remote}`)
    )
  }
}

function tell(audit: Audit, { status, remote, since, times }: Count): void {
  if (times === 0) return
  audit.write({ status, remote, outcome: 'refused', times, since: formatInstant(since) })
}
