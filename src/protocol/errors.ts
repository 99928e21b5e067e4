/** The errors of A2M 0.1 (§7): what may cross the wire. Codes are JSON-RPC's own or of its block -32000..-32099. */
export const CODES = {
  PARSE_ERROR: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
  INVALID_PARAMS: -32602,
  INTERNAL_ERROR: -32603,
  UNKNOWN_RECORD: -32001,
  UNKNOWN_TIER: -32002,
  CAPABILITY_NOT_SUPPORTED: -32003,
  READ_ONLY: -32004,
  SCOPE_DENIED: -32005,
  QUOTA_EXCEEDED: -32006,
  PROTOCOL_NOT_SUPPORTED: -32007,
  EMBEDDING_MISMATCH: -32008,
} as const

export type ErrorName = keyof typeof CODES

/** Structured detail of an error; plain JSON, meant for programs where `message` is meant for people. */
export type ErrorData = Readonly<Record<string, unknown>>

/** An error that is told to the caller as it is. Its message must hold no secret and no other owner's data. */
export class A2mError extends Error {
  readonly code: number
  readonly data: ErrorData | undefined

  constructor(name: ErrorName | number, message: string, data?: ErrorData) {
    super(message)
    this.name = 'A2mError'
    this.code = typeof name === 'number' ? name : CODES[name]
    this.data = data
  }
}

/** Shorthand for the commonest refusal: `path` is where in the params the fault lies, in dots and brackets. */
export function invalidParams(message: string, data?: ErrorData): A2mError {
  return new A2mError('INVALID_PARAMS', message, data)
}

/**
 * What can go wrong on the way to an upstream and back; these never cross the wire as they are. `not_sent` says that the
 * upstream cannot have acted on the call, `unknown` that it may have.
 */
export const FAULTS = {
  unreachable: 'not_sent',
  unavailable: 'not_sent',
  busy: 'not_sent',
  timeout: 'unknown',
  cut: 'unknown',
  bad_reply: 'unknown',
  too_large: 'unknown',
  cancelled: 'unknown',
} as const satisfies Record<string, 'not_sent' | 'unknown'>

export type FaultKind = keyof typeof FAULTS
export type Outcome = (typeof FAULTS)[FaultKind]

/** A call that got no usable answer. `outcome` may be narrower than the kind's own where the transport knows better. */
export class Fault extends Error {
  readonly kind: FaultKind
  readonly outcome: Outcome

  constructor(kind: FaultKind, message: string, outcome: Outcome = FAULTS[kind]) {
    super(message)
    this.name = 'Fault'
    this.kind = kind
    this.outcome = outcome
  }
}

/** What anything thrown says, for people who run the gateway. It may hold what callers must not be told. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/** What the caller is told of anything thrown: an `A2mError` as it is, everything else as an internal error without its text. */
export function toA2mError(thrown: unknown): A2mError {
  if (thrown instanceof A2mError) return thrown
  if (thrown instanceof Fault) {
    return new A2mError('INTERNAL_ERROR', `no usable answer: ${thrown.message}`, {
      fault: thrown.kind,
      outcome: thrown.outcome,
    })
  }
  return new A2mError('INTERNAL_ERROR', 'internal error')
}
