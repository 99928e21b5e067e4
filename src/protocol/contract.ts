import { A2mError, invalidParams } from './errors.js'
import { EXTENSION } from './extension.js'
import { type Caller, type Context, GATEWAY_ROLE, type Memory } from './memory.js'
import {
  BROUGHT_BY,
  CAPABILITIES,
  type Capability,
  type Limits,
  type Method,
  methodsOf,
  type ParamsOf,
  type ResultOf,
  SPECS,
} from './methods.js'
import { onceFor } from './once-for.js'
import type { Entry } from './records.js'
import { isObject } from './rpc.js'
import type { Served } from './serve.js'
import { compatible, PROTOCOL } from './versions.js'

/** What a server promises a caller at this moment; §2 makes it keep to that for every call. */
export interface Contract {
  readonly capabilities: ReadonlySet<Capability>
  readonly readOnly: boolean
  readonly limits: Limits
  /**
   * Some of what is behind it keeps owners apart although `scopes` cannot be declared, as while an upstream is down: whoever may act
   * for everybody and names an owner must then not be answered as if it had named none.
   */
  readonly owners?: 'withheld'
  /** What the caller's roles refuse of a method; absent where they refuse none. */
  readonly denial?: (method: Method) => A2mError | undefined
}

/** Holds a memory to its contract: refusals, fields of undeclared capabilities, limits and the version asked for. */
export function withContract(inner: Memory, contractFor: (context: Context) => Contract): Served {
  return {
    refusal: (method, context) => refusal(method, contractFor(context)),
    recognised(method, params, context) {
      const contract = contractFor(context)
      if (widens(method, contract)) refuseWidening(params, contract, context)
      return withoutUndeclared(withoutExtension(params, context), contract, context)
    },
    async call(method, params, context) {
      const contract = contractFor(context)
      const held = hold(method, withoutUndeclared(params, contract, context), contract)
      const result = await inner.call(method, held, context)
      return DISCLOSE[method]?.(result, contract) ?? result
    },
    close: () => inner.close(),
  }
}

function refusal(method: Method, contract: Contract): A2mError | undefined {
  const { capability, kind } = SPECS[method]
  if (!contract.capabilities.has(capability)) return unsupported(capability)
  if (kind === 'write' && contract.readOnly) {
    return new A2mError('READ_ONLY', 'this memory takes no writes')
  }
  return contract.denial?.(method)
}

function unsupported(capability: Capability): A2mError {
  return new A2mError(
    'CAPABILITY_NOT_SUPPORTED',
    `the '${capability}' capability is not declared`,
    {
      capability,
    },
  )
}

type Hold = { readonly [M in Method]?: (params: ParamsOf<M>, contract: Contract) => ParamsOf<M> }

const HOLDS: Hold = {
  'memory/describe': holdVersion,
  'memory/remember': holdRemember,
  'memory/recall': holdReading,
  'memory/timeline': holdReading,
  'memory/forget': holdForget,
  'memory/summarize': holdSummarize,
}

function hold<M extends Method>(method: M, params: ParamsOf<M>, contract: Contract): ParamsOf<M> {
  const rule = HOLDS[method]
  return rule === undefined ? params : rule(params, contract)
}

/** Describe tells this caller what is promised to this caller. */
const DISCLOSE: {
  readonly [M in Method]?: (result: ResultOf<M>, contract: Contract) => ResultOf<M>
} = {
  'memory/describe': (description, { capabilities }) => ({
    ...description,
    capabilities: CAPABILITIES.filter((capability) => capabilities.has(capability)),
    methods: methodsOf(capabilities),
  }),
}

function holdVersion(params: ParamsOf<'memory/describe'>): ParamsOf<'memory/describe'> {
  if (params.protocol !== undefined && !compatible(params.protocol, PROTOCOL)) {
    throw new A2mError('PROTOCOL_NOT_SUPPORTED', `this server speaks ${PROTOCOL}`, {
      supported: [PROTOCOL],
    })
  }
  return params
}

/** What brings a parameter or a field of an entry that is ignored where its capability is not declared (§2, §4.2). */
const CAPABILITY_OF = {
  ...BROUGHT_BY,
  owner: 'scopes',
  embeddings: 'embeddings',
  prompt: 'prompt',
} as const satisfies Readonly<Record<string, Capability>>
type Optional = keyof typeof CAPABILITY_OF
const OPTIONAL = Object.keys(CAPABILITY_OF) as readonly Optional[]

/** What is ignored under a set of capabilities, worked out once for each set. */
const ignoredUnder = onceFor((capabilities: Contract['capabilities']): readonly Optional[] =>
  OPTIONAL.filter((name) => !capabilities.has(CAPABILITY_OF[name])),
)

/** Takes off what is ignored, from the params and from the entries in them, whatever its value is. */
function withoutUndeclared<P>(params: P, { capabilities }: Contract, { caller }: Context): P {
  if (!isObject(params)) return params
  const ignored = ignoredUnder(capabilities)
  const names = hasToChoose(caller) ? ignored.filter((name) => name !== 'owner') : ignored
  if (names.length === 0) return params
  const rest = without(params, names)
  if (!isObject(rest) || !Array.isArray(rest['records'])) return rest
  const entries = rest['records'].map((entry: unknown) => without(entry, names))
  return { ...rest, records: entries }
}

/** A caller of several owners has to say which it means, whatever is declared. */
function hasToChoose({ scope }: Caller): boolean {
  return scope.kind === 'owners' && scope.owners.length > 1
}

/** Methods that do more when an owner is left out than when it is named. */
const WIDENED: ReadonlySet<Method> = new Set([
  'memory/forget',
  'memory/promote',
  'memory/consolidate',
  'memory/reinforce',
  'memory/summarize',
])

/** By describe one finds out what is declared, and so may ask whatever it is. */
function widens(method: Method, { owners }: Contract): boolean {
  return WIDENED.has(method) || (owners === 'withheld' && method !== 'memory/describe')
}

/** What is about one owner's records must not become something about everybody's, or nobody's, because owners are not declared. */
function refuseWidening(params: unknown, { capabilities }: Contract, { caller }: Context): void {
  if (caller.scope.kind !== 'all' || capabilities.has('scopes') || !isObject(params)) return
  const { records } = params
  const entries: readonly unknown[] = Array.isArray(records) ? records : []
  if ([params, ...entries].some(namesOwner)) throw unsupported('scopes')
}

function namesOwner(value: unknown): boolean {
  return isObject(value) && value['owner'] !== undefined && value['owner'] !== null
}

/** To anyone but a gateway it is a parameter that is not recognised. */
function withoutExtension(params: unknown, { caller }: Context): unknown {
  return caller.roles.includes(GATEWAY_ROLE) ? params : without(params, [EXTENSION])
}

function without<T>(value: T, names: readonly string[]): T {
  if (!isObject(value)) return value
  const surplus = names.filter((name) => value[name] !== undefined)
  if (surplus.length === 0) return value
  const copy: T & Record<string, unknown> = { ...value }
  for (const name of surplus) delete copy[name]
  return copy
}

function holdRemember(
  params: ParamsOf<'memory/remember'>,
  contract: Contract,
): ParamsOf<'memory/remember'> {
  const { max_records_per_call: most } = contract.limits
  if (most !== undefined && params.records.length > most) {
    throw invalidParams(`records: at most ${most} a call`, { limit: 'max_records_per_call' })
  }
  for (const [index, entry] of params.records.entries()) holdEntry(entry, index, contract)
  return params
}

function holdEntry(entry: Entry, index: number, { capabilities, limits }: Contract): void {
  if (entry.tier !== undefined && !capabilities.has('tiers')) throw unsupported('tiers')
  const { max_content_length: longest } = limits
  if (longest !== undefined && longerThan(entry.content, longest)) {
    throw invalidParams(`records[${index}].content: at most ${longest} characters`, {
      limit: 'max_content_length',
    })
  }
}

/** Code points are counted only where the count of UTF-16 units leaves it open. */
function longerThan(text: string, most: number): boolean {
  if (text.length <= most) return false
  let points = 0
  for (const _ of text) if (++points > most) return true
  return false
}

type Reading = ParamsOf<'memory/timeline'>

/** A selector that would narrow the answer is refused where it cannot be honoured. */
function holdReading<P extends Reading>(params: P, { capabilities, limits }: Contract): P {
  refuseSelectors(params, capabilities)
  const most = limits.max_recall_limit
  if (most !== undefined && params.limit !== undefined && params.limit > most) {
    throw invalidParams(`limit: at most ${most}`, { limit: 'max_recall_limit' })
  }
  return params
}

function holdForget(
  params: ParamsOf<'memory/forget'>,
  { capabilities }: Contract,
): ParamsOf<'memory/forget'> {
  refuseSelectors(params, capabilities)
  refuseUnselected(params, 'forget')
  return params
}

/** The most records that one summary is made from. */
export const MOST_SUMMARIZED = 10_000

function holdSummarize(
  params: ParamsOf<'memory/summarize'>,
  { capabilities }: Contract,
): ParamsOf<'memory/summarize'> {
  refuseSelectors(params, capabilities)
  if (params.into !== undefined && !capabilities.has('tiers')) throw unsupported('tiers')
  refuseUnselected(params, 'summarize')
  if ((params.limit ?? 0) > MOST_SUMMARIZED || (params.ids?.length ?? 0) > MOST_SUMMARIZED) {
    throw invalidParams(`limit, ids: at most ${MOST_SUMMARIZED} records are summarized at once`)
  }
  return params
}

/** An empty selector is an absent one; without any, a whole store would be meant (§4.5, §4.15). */
function refuseUnselected(params: ParamsOf<'memory/forget'>, what: string): void {
  const selectors = [params.ids?.length, params.query?.trim(), params.tier, params.key_prefix]
  const named = selectors.some(Boolean) || Object.keys(params.where ?? {}).length > 0
  if (named) return
  throw invalidParams(`name what to ${what}: ids, query, tier, where or key_prefix, and not empty`)
}

function refuseSelectors(
  params: { tier?: string | undefined; key_prefix?: string | undefined },
  capabilities: ReadonlySet<Capability>,
): void {
  if (params.tier !== undefined && params.tier !== '' && !capabilities.has('tiers')) {
    throw unsupported('tiers')
  }
  if (params.key_prefix && !capabilities.has('keys')) throw unsupported('keys')
}
