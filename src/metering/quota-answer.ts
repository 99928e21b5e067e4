import { A2mError } from '../protocol/errors.js'
import { formatInstant } from '../protocol/time.js'
import type { LimitStanding } from '../protocol/usage.js'
import type { Charge } from './quota-charges.js'
import type { Share } from './quota-store.js'

/** How a limit stands with so much used of it, `now` in ms since 1970. */
export function standingOf({ quota, span }: Charge, used: number, now: number): LimitStanding {
  const isStock = quota.of === 'stock'
  return {
    name: quota.name,
    limit: quota.limit,
    remaining: Math.max(0, quota.limit - used),
    window: isStock ? undefined : seconds(span.end - span.start),
    reset: isStock ? undefined : seconds(span.end - now),
    warned: quota.warnAt !== undefined && used >= quota.warnAt,
    retryAfter: undefined,
  }
}

/** The same for the limit that a call was refused by. A call that asks for more than the whole limit need not come again. */
export function refusedStandingOf(charge: Charge, used: number, now: number): LimitStanding {
  const standing = standingOf(charge, used, now)
  const fits = charge.amount <= charge.quota.limit
  return { ...standing, retryAfter: fits ? standing.reset : undefined }
}

/** What is used of a limit. `size` is the share that had no room; undefined where it was the limit. */
interface Used extends Pick<Share, 'used'> {
  readonly size?: number
}

/** What a caller is told whose call did not fit into a limit (§7). */
export function quotaExceeded(charge: Charge, { size, used }: Used, now: number): A2mError {
  const { quota, span, amount } = charge
  const { window, reset } = standingOf(charge, used, now)
  return new A2mError('QUOTA_EXCEEDED', sentence(charge, size, reset), {
    limit: quota.name,
    of: quota.of,
    per: quota.per,
    max: quota.limit,
    ...(size === undefined ? {} : { share: size }),
    used,
    asked: amount,
    ...(window === undefined ? {} : { window, reset, resets_at: formatInstant(span.end) }),
  })
}

function sentence(
  { quota, amount }: Charge,
  share: number | undefined,
  reset: number | undefined,
): string {
  const { name, of, per, limit } = quota
  const what = of === 'stock' ? 'stored records' : of
  if (limit === 0) return `the limit ${name} lets no ${what} through`
  if (amount > limit) {
    return `this call alone takes ${amount} of the ${limit} ${what} of the limit ${name}; send less at once`
  }
  const whole = `the limit ${name} of ${limit} ${what} for each ${per}`
  const room =
    share === undefined
      ? whole
      : `gateways cannot count together at the moment, and this one's share, ${share}, of ${whole}`
  const state = `${room} has no room for ${amount} more`
  return reset === undefined
    ? `${state}; forget some records first`
    : `${state}; it begins anew in ${reset} s`
}

/** What a caller is told while the counts are away and nothing may be done without them. */
export function quotasAway(): A2mError {
  return new A2mError(
    'INTERNAL_ERROR',
    'what may be used cannot be counted at the moment, and nothing is done meanwhile; try again later',
    { fault: 'unavailable', outcome: 'not_sent' },
  )
}

function seconds(ms: number): number {
  return Math.max(0, Math.ceil(ms / 1000))
}
