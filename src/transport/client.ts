import { checkResult } from '../protocol/checks.js'
import { Fault } from '../protocol/errors.js'
import type { Context, Memory } from '../protocol/memory.js'
import { type Method, type ParamsOf, type ResultOf, SPECS } from '../protocol/methods.js'
import { printRequest } from '../protocol/rpc.js'
import type { Outgoing, Response, Vouch, Wire } from './wire.js'

/**
 * The memory at the other end of a wire. Request ids are this client's own and count up from 1. Rejects with the `A2mError`
 * that the server answered with, as it is, or with a `Fault`. Where there is a `vouch`, every call carries what it says.
 */
export function createClient(wire: Wire, vouch?: Vouch): Memory {
  let lastId = 0
  return {
    async call(method, params, context) {
      const id = ++lastId
      const bearer = vouch === undefined ? undefined : await vouch(context)
      const message = outgoing(id, { method, params, context, bearer })
      return readResult(method, id, await wire.send(message))
    },
    close: () => wire.close(),
  }
}

interface Call<M extends Method> {
  readonly method: M
  readonly params: ParamsOf<M>
  readonly context: Context
  readonly bearer: string | undefined
}

function outgoing<M extends Method>(id: number, call: Call<M>): Outgoing {
  const { method, params, context, bearer } = call
  const { kind } = SPECS[method]
  return {
    id,
    text: printRequest(id, method, params),
    deadline: context.deadline,
    cancellation: context.cancellation,
    bearer,
    repetition: kind === 'read' || kind === 'describe' ? 'harmless' : 'harmful',
  }
}

/**
 * The result in the answer to request `id`; throws the error that it carries instead. An error may lack the id, since a
 * server may refuse a request that it has not read (§8.3.2).
 */
export function readResult<M extends Method>(
  method: M,
  id: number,
  response: Response,
): ResultOf<M> {
  if ('error' in response) {
    if (response.id !== null && response.id !== id) throw foreign()
    throw response.error
  }
  if (response.id !== id) throw foreign()
  return checkResult(method, response.result)
}

function foreign(): Fault {
  return new Fault('bad_reply', 'the reply is to another request')
}
