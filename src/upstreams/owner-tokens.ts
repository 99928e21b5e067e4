import type { Signer, Verifier } from '../identity/signer.js'
import { Fault } from '../protocol/errors.js'
import type { Context } from '../protocol/memory.js'
import type { Vouch } from '../transport/wire.js'

export interface OwnerTokens {
  readonly signer: Pick<Signer, 'token'>
  readonly verifier: Verifier
  /** The subject of what the gateway asks on its own account. */
  readonly subject: string
  /** Whether there is a credential of the gateway's own for what is nobody's or everybody's. */
  readonly ownCredential: 'given' | 'none'
}

/**
 * The one place where an ask of an upstream with `owner: token` gets its credential. About one owner's records: a token of that
 * owner, whatever the method. About everybody's or nobody's: the gateway's own credential, and without one it is not sent. What is
 * no ask of the federation is about the upstream itself, and has a token whose subject is the gateway.
 */
export function ownerTokens({ signer, verifier, subject, ownCredential }: OwnerTokens): Vouch {
  return (context) => {
    if (!isAsk(context)) return signer.token(verifier, subject)
    if (typeof context.owner === 'string') return signer.token(verifier, context.owner)
    if (ownCredential === 'given') return undefined
    throw new Fault('unavailable', 'it is asked for one owner at a time, and this was for none')
  }
}

/** Whoever asks says for whom, also where that is everybody. */
function isAsk(context: Context): boolean {
  return Object.hasOwn(context, 'owner')
}
