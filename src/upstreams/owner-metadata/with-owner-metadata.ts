import { A2mError } from '../../protocol/errors.js'
import type { Context, Memory } from '../../protocol/memory.js'
import type { Method, ParamsOf, ResultOf } from '../../protocol/methods.js'
import type { Reached } from '../upstream.js'
import { forget, promote, reinforce } from './by-id.js'
import { declared, describe } from './describing.js'
import { fetch } from './keyed.js'
import { type Blame, MixedMemory } from './mixed-memory.js'
import { readByRelevance, readInOrder, resultOf } from './reading.js'
import { remember } from './remembering.js'
import { listSessions } from './sessions.js'

export interface OwnerMetadataOptions {
  /** Makes ids for records that come without one. */
  readonly newId: () => string
  readonly blame: Blame
}

type Handlers = {
  readonly [M in Method]?: (params: ParamsOf<M>, context: Context) => Promise<ResultOf<M>>
}

/**
 * Makes an upstream that knows no owners one that keeps them apart: whose a record is stands in reserved metadata, by which every
 * reading asks and is checked again; ids, keys, sessions and groups are called so that no two owners' can meet; and nothing is
 * deleted or moved before it was read and found to be the owner's.
 */
export function withOwnerMetadata(
  reached: Reached,
  { newId, blame }: OwnerMetadataOptions,
): Reached {
  const { memory: inner, wellKnown } = reached
  const mixed = new MixedMemory(inner, blame)
  const handlers: Handlers = {
    'memory/describe': (params, context) => describe(mixed, params, context),
    'memory/remember': (params, context) => remember(mixed, params, { newId, context }),
    'memory/recall': async (params, context) =>
      resultOf(await readByRelevance(mixed, params, context)),
    'memory/timeline': async (params, context) =>
      resultOf(await readInOrder(mixed, params, context)),
    'memory/forget': (params, context) => forget(mixed, params, context),
    'memory/promote': (params, context) => promote(mixed, params, context),
    'memory/reinforce': (params, context) => reinforce(mixed, params, context),
    'memory/fetch': (params, context) => fetch(mixed, params, context),
    'memory/session/list': (params, context) => listSessions(mixed, params, context),
  }
  const memory: Memory = {
    async call(method, params, context) {
      const handler = handlers[method]
      if (handler === undefined) throw notOffered(method)
      return handler(params, context)
    },
    close: () => inner.close(),
  }
  return {
    memory,
    flaws: () => mixed.flaws(),
    ...(wellKnown === undefined ? {} : { wellKnown: asDeclared(wellKnown, mixed) }),
  }
}

function asDeclared(
  wellKnown: NonNullable<Reached['wellKnown']>,
  mixed: MixedMemory,
): NonNullable<Reached['wellKnown']> {
  return async (context) => {
    const told = await wellKnown(context)
    return told === undefined ? undefined : declared(told, mixed.keepsApart)
  }
}

/** Reorganising, telling of changes and summarizing would be of all owners' records at once; the gateway does these itself. */
function notOffered(method: Method): A2mError {
  return new A2mError(
    'CAPABILITY_NOT_SUPPORTED',
    `${method} is not asked of an upstream that is told owners in metadata`,
  )
}
