import type { EventLog } from '../events/log.js'
import { A2mError } from '../protocol/errors.js'
import type { ParamsOf, ResultOf } from '../protocol/methods.js'
import { ownerOf } from '../protocol/scope.js'
import type { Shelf } from './shelf.js'

/** What has happened since a cursor (§4.12). */
export function events(shelf: Shelf, params: ParamsOf<'memory/events'>): ResultOf<'memory/events'> {
  return logOf(shelf).read({ ...params, owner: ownerOf(params) })
}

/** A store pushes to nobody (§4.13), so that nobody can be subscribed (§4.14). */
export function unsubscribe(shelf: Shelf): ResultOf<'memory/events/unsubscribe'> {
  logOf(shelf)
  return { subscribed: false }
}

function logOf({ log }: Shelf): EventLog {
  if (log !== undefined) return log
  throw new A2mError('CAPABILITY_NOT_SUPPORTED', 'this store keeps no events', {
    capability: 'events',
  })
}
