import type { OutgoingHttpHeaders } from 'node:http'
import type { LimitStanding } from '../protocol/usage.js'

/** Names of the limits whose soft limit is passed; a list of strings, as RFC 9651 writes it. */
const WARNING = 'a2m-quota-warning'

/**
 * How the limits of a call stand, as draft-ietf-httpapi-ratelimit-headers writes it: what each allows in `RateLimit-Policy`, what is
 * left of it in `RateLimit`. Undefined where none concerned the call.
 */
export function rateLimitHeaders(
  standings: readonly LimitStanding[],
): OutgoingHttpHeaders | undefined {
  if (standings.length === 0) return undefined
  const tightest = byName(standings)
  const headers: OutgoingHttpHeaders = {
    'ratelimit-policy': tightest.map(policyOf).join(', '),
    ratelimit: tightest.map(standingIn).join(', '),
  }
  const warned = tightest.filter((standing) => standing.warned)
  if (warned.length > 0) headers[WARNING] = warned.map(({ name }) => quoted(name)).join(', ')
  const retryAfter = standings.map((standing) => standing.retryAfter ?? -1)
  const longest = Math.max(...retryAfter)
  if (longest >= 0) headers['retry-after'] = `${longest}`
  return headers
}

/** One limit may count for several owners in one call: the one with the least left is told of. */
function byName(standings: readonly LimitStanding[]): readonly LimitStanding[] {
  const tightest = new Map<string, LimitStanding>()
  for (const standing of standings) {
    const known = tightest.get(standing.name)
    if (known === undefined || standing.remaining < known.remaining) {
      tightest.set(standing.name, standing)
    }
  }
  return [...tightest.values()]
}

function policyOf({ name, limit, window }: LimitStanding): string {
  const policy = `${quoted(name)};q=${limit}`
  return window === undefined ? policy : `${policy};w=${window}`
}

function standingIn({ name, remaining, reset }: LimitStanding): string {
  const standing = `${quoted(name)};r=${remaining}`
  return reset === undefined ? standing : `${standing};t=${reset}`
}

/** Names of limits have neither quotes nor backslashes. */
function quoted(name: string): string {
  return `"${name}"`
}
