import { type A2mError, CODES, toA2mError } from '../protocol/errors.js'
import type { Caller } from '../protocol/memory.js'
import { printError } from '../protocol/rpc.js'
import type { LimitStanding } from '../protocol/usage.js'
import type { StreamThrough } from '../transport/stream-through.js'
import { rateLimitHeaders } from './rate-limit.js'
import type { JsonReply } from './replies.js'

/** The leave to be let through to a server elsewhere. */
export interface Leave {
  /** The credential that is shown there. */
  readonly bearer: string | undefined
  /** Told once whether what was reserved for the request is used; returns how its limits stand then. */
  readonly settle?: (outcome: 'used' | 'given_back') => readonly LimitStanding[]
}

/** A caller that is not let through: what it is told, and how its limits stand where one of them is why. */
export class Denied extends Error {
  readonly error: A2mError
  readonly standings: readonly LimitStanding[]

  constructor(error: A2mError, standings: readonly LimitStanding[] = []) {
    super(error.message)
    this.name = 'Denied'
    this.error = error
    this.standings = standings
  }
}

/** A server elsewhere that speaks a version, and who is let through to it. */
export interface Through {
  readonly upstream: StreamThrough
  /** `trace` is that of the request. Rejects, or throws, with a `Denied` for who is not let through. */
  readonly leaveFor: (caller: Caller, trace: string) => Leave | Promise<Leave>
}

/** Whether a caller is let through. Never rejects. */
export async function leaveOf(
  through: Through,
  caller: Caller,
  trace: string,
): Promise<Leave | Denied> {
  try {
    return await through.leaveFor(caller, trace)
  } catch (thrown) {
    return thrown instanceof Denied ? thrown : new Denied(toA2mError(thrown))
  }
}

/** As with a version that is not spoken: an error of the protocol although no message has been read. */
export function denial({ error, standings }: Denied): JsonReply {
  const status = DENIALS[error.code] ?? 503
  const headers = rateLimitHeaders(standings)
  const body = printError(null, error)
  return headers === undefined ? { status, body } : { status, body, headers }
}

const DENIALS: Readonly<Record<number, number>> = {
  [CODES.SCOPE_DENIED]: 403,
  [CODES.INVALID_PARAMS]: 403,
  [CODES.QUOTA_EXCEEDED]: 429,
}
