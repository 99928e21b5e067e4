import type { Database } from 'better-sqlite3'
import type { Contract } from '../protocol/contract.js'
import { A2mError, Fault } from '../protocol/errors.js'
import type { Context, Memory } from '../protocol/memory.js'
import {
  type Capability,
  type Method,
  type ParamsOf,
  type ResultOf,
  SPECS,
} from '../protocol/methods.js'
import { consolidate } from './consolidating.js'
import { asUnusable, openDatabase } from './database.js'
import { describe, provided } from './describing.js'
import { promote } from './moving.js'
import type { StoreOptions } from './options.js'
import { fetch, recall, timeline } from './reading.js'
import { closeSession, listSessions } from './sessions.js'
import { openShelf, type Services, type Shelf } from './shelf.js'
import { tiersOf } from './tiers.js'
import { events, unsubscribe } from './watching.js'
import { forget, reinforce, remember } from './writing.js'

const DEFAULT_LIMIT = 8

/**
 * Opens a built-in store: a Memory on one SQLite file, synchronous inside and so meant for a worker thread. Owners are taken
 * as the params name them (see `withScope`). Throws an `UnusableFile`, or a RangeError where the options contradict themselves.
 */
export function openStore(options: StoreOptions, services: Services): Memory {
  const tiers = tiersOf(options)
  const db = openDatabase(options)
  try {
    const settings = {
      name: options.name ?? 'a2m-gateway store',
      limits: options.limits ?? {},
      defaultLimit: options.defaultLimit ?? DEFAULT_LIMIT,
      tiers: [...tiers, ...orphans(db, new Set(tiers.map(({ name }) => name)))],
      metric: options.metric,
      events: options.events,
    }
    return new Store(openShelf(db, settings, services), options.access ?? 'read-write')
  } catch (thrown) {
    db.close()
    throw asUnusable(options.path, thrown)
  }
}

/**
 * What a store promises a caller; `scopes` only to one whose owners are known (§6). Hold it with
 * `withContract(withScope(store), storeContract(options))`.
 */
export function storeContract(options: StoreOptions): (context: Context) => Contract {
  const readOnly = options.access === 'read-only'
  const limits = options.limits ?? {}
  const scoped = provided(options.events)
  const unscoped: ReadonlySet<Capability> = new Set(
    [...scoped].filter((capability) => capability !== 'scopes'),
  )
  return ({ caller }) => ({
    capabilities: caller.scope.kind === 'ownerless' ? unscoped : scoped,
    readOnly,
    limits,
  })
}

/** Tiers that the options no longer name and records are still in; they stay reachable. */
function orphans(db: Database, named: ReadonlySet<string>): readonly { readonly name: string }[] {
  return db
    .prepare<[], string>('SELECT DISTINCT tier FROM partitions WHERE records > 0 ORDER BY tier')
    .pluck()
    .all()
    .filter((name) => !named.has(name))
    .map((name) => ({ name }))
}

type Handlers = { readonly [M in Method]?: (shelf: Shelf, params: ParamsOf<M>) => ResultOf<M> }

const HANDLERS: Handlers = {
  'memory/describe': describe,
  'memory/remember': remember,
  'memory/recall': recall,
  'memory/timeline': timeline,
  'memory/forget': forget,
  'memory/promote': promote,
  'memory/consolidate': consolidate,
  'memory/reinforce': reinforce,
  'memory/fetch': fetch,
  'memory/session/list': listSessions,
  'memory/session/close': closeSession,
  'memory/events': events,
  'memory/events/unsubscribe': unsubscribe,
}

class Store implements Memory {
  readonly #shelf: Shelf
  readonly #access: 'read-write' | 'read-only'

  constructor(shelf: Shelf, access: 'read-write' | 'read-only') {
    this.#shelf = shelf
    this.#access = access
  }

  async call<M extends Method>(method: M, params: ParamsOf<M>): Promise<ResultOf<M>> {
    if (!this.#shelf.db.open) throw new Fault('unavailable', 'the store is closed')
    const handler = HANDLERS[method]
    const { capability, kind } = SPECS[method]
    if (handler === undefined) throw unsupported(capability)
    if (kind === 'write' && this.#access === 'read-only') {
      throw new A2mError('READ_ONLY', 'this memory takes no writes')
    }
    const transaction = this.#shelf.db.transaction(() => handler(this.#shelf, params))
    return kind === 'write' ? this.#write(transaction.immediate) : this.#read(transaction.deferred)
  }

  /** What of a change is in memory follows the file. */
  #write<R>(change: () => R): R {
    const { vectors } = this.#shelf
    try {
      const result = change()
      vectors.done()
      return result
    } catch (thrown) {
      vectors.undone()
      throw thrown
    }
  }

  #read<R>(look: () => R): R {
    const { uses } = this.#shelf
    try {
      const result = look()
      if (this.#access === 'read-write') uses.settle()
      return result
    } finally {
      uses.forget()
    }
  }

  async close(): Promise<void> {
    const { db } = this.#shelf
    if (!db.open) return
    if (this.#access === 'read-write') db.pragma('wal_checkpoint(TRUNCATE)')
    db.close()
  }
}

function unsupported(capability: Capability): A2mError {
  return new A2mError(
    'CAPABILITY_NOT_SUPPORTED',
    `the '${capability}' capability is not declared`,
    { capability },
  )
}
