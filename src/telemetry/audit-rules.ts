import type { Method, ParamsOf, ResultOf, SPECS } from '../protocol/methods.js'

/** What a call names: ids, keys and the like, never what records say. A list that would be empty is not there. */
export interface Named {
  readonly ids?: readonly string[] | undefined
  readonly keys?: readonly string[] | undefined
  readonly key_prefix?: string | undefined
  readonly tiers?: readonly string[] | undefined
  readonly sessions?: readonly string[] | undefined
  /** Names of the selectors that it goes by, without what they say. */
  readonly by?: readonly string[] | undefined
}

/** What a call has changed, beside what `Context.touched` tells. */
export interface Done {
  readonly written?: readonly string[] | undefined
  /** Records that the answer says were concerned. */
  readonly count?: number
}

type Writes<M extends Method> = (typeof SPECS)[M]['kind'] extends 'write' ? true : false

/** What is told of a method: of one that writes, also what it did. */
type Rule<M extends Method> = Writes<M> extends true ? WriteRule<M> : ReadRule<M>
interface ReadRule<M extends Method> {
  readonly names: (params: ParamsOf<M>) => Named
}
interface WriteRule<M extends Method> extends ReadRule<M> {
  readonly done: (result: ResultOf<M>) => Done
}

/** A method without a rule does not compile, nor does one that writes and has nothing to say of what it did. */
const RULES: { readonly [M in Method]: Rule<M> } = {
  'memory/describe': { names: () => ({}) },
  'memory/remember': { names: namesOfEntries, done: ({ ids }) => ({ written: some(ids) }) },
  'memory/recall': { names: namesOfReading },
  'memory/timeline': { names: namesOfReading },
  'memory/forget': { names: namesOfSelection, done: ({ forgotten: count }) => ({ count }) },
  'memory/promote': {
    names: ({ ids, tier }) => ({ ids: some(ids), tiers: [tier] }),
    done: ({ promoted: count }) => ({ count }),
  },
  'memory/consolidate': {
    names: () => ({}),
    done: ({ moved, promoted, dropped }) => ({ count: moved + promoted + dropped }),
  },
  'memory/reinforce': {
    names: ({ ids }) => ({ ids: some(ids) }),
    done: ({ reinforced: count }) => ({ count }),
  },
  'memory/fetch': { names: ({ key }) => ({ keys: [key] }) },
  'memory/session/list': { names: () => ({}) },
  'memory/session/close': {
    names: ({ session }) => ({ sessions: [session] }),
    done: ({ flushed: count }) => ({ count }),
  },
  'memory/events': { names: () => ({}) },
  'memory/events/subscribe': { names: () => ({}) },
  'memory/events/unsubscribe': { names: () => ({}) },
  'memory/summarize': {
    names: (params) => ({
      ...namesOfSelection(params),
      keys: one(params.key),
      tiers: distinct([params.tier, params.into], (tier) => tier),
    }),
    done: ({ records }) => ({ written: distinct(records, ({ id }) => id) }),
  },
}

type Rules = { readonly [M in Method]: ReadRule<M> & Partial<WriteRule<M>> }
const ALL: Rules = RULES

export function namesOf<M extends Method>(method: M, params: ParamsOf<M>): Named {
  return ALL[method].names(params)
}

/** Undefined where the method changes nothing. */
export function doneBy<M extends Method>(method: M, result: ResultOf<M>): Done | undefined {
  return ALL[method].done?.(result)
}

function namesOfEntries({ records, session }: ParamsOf<'memory/remember'>): Named {
  const sessions = distinct(records, (entry) => entry.session)
  return {
    ids: distinct(records, ({ id }) => id),
    keys: distinct(records, ({ key }) => key),
    tiers: distinct(records, ({ tier }) => tier),
    sessions: session === undefined ? sessions : distinct([session, ...(sessions ?? [])], (s) => s),
  }
}

function namesOfReading({ tier, key_prefix }: ParamsOf<'memory/timeline'>): Named {
  return { tiers: one(tier), key_prefix }
}

const SELECTORS = ['ids', 'query', 'tier', 'where', 'key_prefix'] as const

function namesOfSelection(params: ParamsOf<'memory/forget'>): Named {
  return {
    ids: some(params.ids),
    tiers: one(params.tier),
    key_prefix: params.key_prefix || undefined,
    by: some(SELECTORS.filter((name) => isNamed(params[name]))),
  }
}

/** An empty selector is an absent one. */
function isNamed(selector: string | object | undefined): boolean {
  if (typeof selector !== 'object') return Boolean(selector)
  return Object.keys(selector).length > 0
}

function one(name: string | undefined): readonly string[] | undefined {
  return name ? [name] : undefined
}

function some(names: readonly string[] | undefined): readonly string[] | undefined {
  return names?.length ? names : undefined
}

/** Each once, in the order in which they come; most writes name nothing of a kind. */
function distinct<T>(
  from: readonly T[],
  nameOf: (one: T) => string | undefined,
): readonly string[] | undefined {
  let names: Set<string> | undefined
  for (const each of from) {
    const name = nameOf(each)
    if (!name) continue
    names ??= new Set()
    names.add(name)
  }
  return names && [...names]
}
