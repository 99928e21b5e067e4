import { Fault, type FaultKind, type Outcome } from '../protocol/errors.js'

interface Meaning {
  readonly kind: FaultKind
  readonly outcome: Outcome
  readonly meaning: string
}

/** Statuses that say more than that the reply is not one of A2M. The rest leaves open whether the server acted. */
const MEANINGS: Readonly<Record<number, Meaning>> = {
  401: credentialRefused(),
  403: credentialRefused(),
  404: { kind: 'bad_reply', outcome: 'not_sent', meaning: 'there is no A2M endpoint at its URL' },
  405: { kind: 'bad_reply', outcome: 'not_sent', meaning: 'its URL takes no POST' },
  413: { kind: 'bad_reply', outcome: 'not_sent', meaning: 'the request is too large for it' },
  415: { kind: 'bad_reply', outcome: 'not_sent', meaning: 'it takes no JSON' },
  429: { kind: 'busy', outcome: 'not_sent', meaning: 'it has too many requests' },
  502: { kind: 'unavailable', outcome: 'unknown', meaning: 'a proxy before it got no answer' },
  503: { kind: 'unavailable', outcome: 'unknown', meaning: 'it is not available' },
  504: { kind: 'unavailable', outcome: 'unknown', meaning: 'a proxy before it waited in vain' },
}

function credentialRefused(): Meaning {
  return {
    kind: 'unavailable',
    outcome: 'not_sent',
    meaning: "it refused the gateway's credential; check the `auth` of this upstream",
  }
}

/** What a status other than 200 says of a call (§8.3: failures of the protocol itself come with a 200). */
export function statusFault(status: number): Fault {
  const { kind, outcome, meaning } = MEANINGS[status] ?? otherMeaning(status)
  return new Fault(kind, `the upstream answered with status ${status}: ${meaning}`, outcome)
}

/** The same where the call carried a token that the gateway had signed itself. */
export function vouchedFault(status: number): Fault {
  if (status !== 401 && status !== 403) return statusFault(status)
  return new Fault(
    'unavailable',
    `the upstream answered with status ${status}: it refused the token that the gateway signed; it has to trust this gateway as an issuer, read its keys, and be the audience`,
    'not_sent',
  )
}

function otherMeaning(status: number): Meaning {
  const outcome = 'unknown'
  if (status === 202 || status === 204) {
    return { kind: 'bad_reply', outcome, meaning: 'it took a request for a notification' }
  }
  if (status >= 300 && status < 400) {
    return { kind: 'bad_reply', outcome, meaning: 'redirects are not followed' }
  }
  return { kind: 'bad_reply', outcome, meaning: 'A2M answers with 200' }
}
