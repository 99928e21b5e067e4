import type { Identity } from './identity.js'
import { type OpenIdentity, type OpenIdentityOptions, openIdentity } from './open.js'

type Credentials = Pick<OpenIdentityOptions, 'credentials' | 'accessOf'>

/** An identity whose credentials can be changed while it serves. */
export interface ReplaceableIdentity extends Identity {
  /**
   * Makes another set of credentials ready, and gives the function that puts it in the place of the one before, from the next
   * request on. Rejects, and changes nothing, where it cannot be used.
   */
  prepare(credentials: Credentials): Promise<() => void>
}

/** Opens the first set of credentials. Rejects as `openIdentity` does. */
export async function createReplaceableIdentity(
  options: OpenIdentityOptions,
): Promise<ReplaceableIdentity> {
  let current: OpenIdentity = await openIdentity(options)
  return {
    authenticate: (presented) => current.authenticate(presented),
    async prepare(credentials) {
      const next = await openIdentity({ ...options, ...credentials, before: current })
      return () => {
        current = next
      }
    },
  }
}
