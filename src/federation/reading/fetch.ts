import { A2mError, Fault } from '../../protocol/errors.js'
import { EXTENSION } from '../../protocol/extension.js'
import type { Context } from '../../protocol/memory.js'
import type { ParamsOf, ResultOf } from '../../protocol/methods.js'
import { type Owner, ownerOf } from '../../protocol/scope.js'
import { addressOf, findKeys, type KeysFound, type LookupOptions } from '../keys.js'
import type { Located } from '../locate.js'
import { isMoving } from '../moving/promote.js'
import type { Handler, Parts } from '../parts.js'

/**
 * Reads the record at a key from whoever holds it (§4.9). The store that holds it counts that as one use. Null is said only where
 * everybody was heard that could have it.
 */
export const fetch: Handler<ParamsOf<'memory/fetch'>, ResultOf<'memory/fetch'>> = async (
  parts,
  params,
  context,
) => {
  const { key, embeddings = false } = params
  const quiet = params[EXTENSION]?.quiet ?? false
  const address = { owner: ownerOf(params), key }
  const { found, silent } = await look(parts, address, { embeddings, quiet }, context)
  if (context.cancellation.cancelled) throw new Fault('cancelled', 'the caller left')
  if (found !== undefined) return { record: found.record }
  if (silent.length > 0) throw unheard(silent)
  return { record: null }
}

interface Looked extends Pick<KeysFound, 'silent'> {
  readonly found: Located | undefined
}

/** A record that moves may have been asked for where it is not yet and then where it is no more: it is asked for once again. */
async function look(
  parts: Parts,
  address: { readonly owner: Owner; readonly key: string },
  options: LookupOptions,
  context: Context,
): Promise<Looked> {
  const moving = isMoving(parts, address.owner)
  const first = await lookOnce(parts, address, options, context)
  const certain = first.found !== undefined || !(moving || isMoving(parts, address.owner))
  return certain ? first : lookOnce(parts, address, options, context)
}

async function lookOnce(
  parts: Parts,
  address: { readonly owner: Owner; readonly key: string },
  options: LookupOptions,
  context: Context,
): Promise<Looked> {
  const { held, silent } = await findKeys(parts, [address], options, context)
  return { found: held.get(addressOf(address)), silent }
}

function unheard(upstreams: readonly string[]): A2mError {
  const message = `nobody who answered has the key, and ${upstreams.join(', ')} did not answer`
  return new A2mError('INTERNAL_ERROR', message, { upstreams })
}
