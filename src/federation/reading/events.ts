import type { ParamsOf, ResultOf } from '../../protocol/methods.js'
import { ownerOf } from '../../protocol/scope.js'
import type { Handler } from '../parts.js'

/** What has changed since a cursor (§4.12), from the gateway's own log; no upstream is asked. */
export const readEvents: Handler<ParamsOf<'memory/events'>, ResultOf<'memory/events'>> = async (
  { book },
  params,
) => book.log.read({ ...params, owner: ownerOf(params) })

/** A federation by itself has no connection to push to, so that nobody is subscribed (§4.14); see `edge/with-push.ts`. */
export const unsubscribe: Handler<
  ParamsOf<'memory/events/unsubscribe'>,
  ResultOf<'memory/events/unsubscribe'>
> = async () => ({ subscribed: false })
