import { copyWith } from './copy.js'
import { describedTogether } from './described-together.js'
import { A2mError, invalidParams } from './errors.js'
import { EXTENSION, type ExtensionParams } from './extension.js'
import { type Context, GATEWAY_ROLE, type Memory, type Scope } from './memory.js'
import type { Method, ParamsOf, ResultOf } from './methods.js'

/** Whose records one call is about: one owner's, those without an owner (null), or anyone's (undefined). */
export type Owner = string | null | undefined

/** Begins every key under which something of an owner is kept, so that no owner's key can be another's. */
export function ownerKey(owner: Owner): string {
  if (owner === undefined) return 'any:'
  return owner === null ? 'none:' : `${owner.length}:${owner}`
}

/** What happens to a call that names an owner outside the caller's scope (§6): an error, or as if it had named none. */
export type OwnerMismatch = 'deny' | 'ignore'

/** What carries an owner in the params of a call, once the caller's scope has been applied. */
export interface Owned {
  readonly owner?: string | undefined
  readonly [EXTENSION]?: ExtensionParams | undefined
}

/** Reads back what `withScope` resolved. */
export function ownerOf(params: Owned): Owner {
  return params.owner ?? params[EXTENSION]?.owner
}

/**
 * Applies the caller's scope to every call: after it, an owner in the params (or in the extension, where a method has no
 * owner of its own) is one that the caller may act for, and entries to write carry theirs. The extension of a caller that
 * is no gateway is taken off here.
 */
export function withScope(inner: Memory, mismatch: OwnerMismatch): Memory {
  return {
    async call(method, params, context) {
      const setting = { context, mismatch }
      const result = await (OF_ALL[method]?.(inner, params, setting) ??
        inner.call(method, RULES[method](params, setting), context))
      return DISCLOSE[method]?.(result, context) ?? result
    },
    close: () => inner.close(),
  }
}

/** The extension is promised to those alone from whom it is taken. */
const DISCLOSE: {
  readonly [M in Method]?: (result: ResultOf<M>, context: Context) => ResultOf<M>
} = {
  'memory/describe': (description, { caller }) => {
    if (caller.roles.includes(GATEWAY_ROLE)) return description
    const { [EXTENSION]: _, ...rest } = description
    return rest
  },
}

/** What can be told of all the owners that a caller may act for, where it names none of them; undefined: nothing of several. */
const OF_ALL: {
  readonly [M in Method]?: (
    inner: Memory,
    params: ParamsOf<M>,
    setting: Setting,
  ) => Promise<ResultOf<M>> | undefined
} = {
  'memory/describe': (inner, params, setting) => {
    const { scope } = setting.context.caller
    if (scope.kind !== 'owners' || scope.owners.length === 1) return undefined
    if ((params.owner ?? trusted(params, setting)?.owner) !== undefined) return undefined
    return describedTogether(scope.owners, (owner) =>
      inner.call('memory/describe', scoped({ ...params, owner }, setting), setting.context),
    )
  },
}

interface Setting {
  readonly context: Context
  readonly mismatch: OwnerMismatch
}

/** A method without a rule does not compile: none may slip past a caller's scope. */
const RULES: { readonly [M in Method]: (params: ParamsOf<M>, setting: Setting) => ParamsOf<M> } = {
  'memory/describe': scoped,
  'memory/remember': scopedEntries,
  'memory/recall': selected,
  'memory/timeline': selected,
  'memory/forget': selected,
  'memory/promote': inExtension,
  'memory/consolidate': inExtension,
  'memory/reinforce': inExtension,
  'memory/fetch': scoped,
  'memory/session/list': scoped,
  'memory/session/close': scoped,
  'memory/events': scoped,
  'memory/events/subscribe': scoped,
  'memory/events/unsubscribe': ofNobody,
  'memory/summarize': selected,
}

function scoped<P extends Owned>(params: P, setting: Setting): P {
  const extension = trusted(params, setting)
  const owner = resolve(params.owner ?? extension?.owner, setting)
  return copyWith(params, {
    owner: owner ?? undefined,
    [EXTENSION]: owner === null ? { ...extension, owner } : withoutOwner(extension),
  })
}

function selected<
  P extends Owned & { readonly where?: Readonly<Record<string, unknown>> | undefined },
>(params: P, setting: Setting): P {
  if (setting.mismatch === 'deny') refuseForeign(params.where?.['owner'], setting)
  return scoped(params, setting)
}

/** In `where` an owner is a test like any other and cannot widen anything; naming another's is refused where told to. */
function refuseForeign(wanted: unknown, { context: { caller } }: Setting): void {
  const { scope } = caller
  if (scope.kind !== 'owners') return
  for (const owner of Array.isArray(wanted) ? wanted : [wanted]) {
    if (typeof owner === 'string' && !scope.owners.includes(owner)) throw denied()
  }
}

function inExtension<P extends Owned>(params: P, setting: Setting): P {
  const extension = trusted(params, setting)
  const owner = resolve(params.owner ?? extension?.owner, setting)
  return { ...params, owner: undefined, [EXTENSION]: { ...extension, owner } }
}

/** It is about the connection and no records, so that no owner has to be known. */
function ofNobody<P extends Owned>(params: P, setting: Setting): P {
  return { ...params, [EXTENSION]: withoutOwner(trusted(params, setting)) }
}

function scopedEntries(
  params: ParamsOf<'memory/remember'>,
  setting: Setting,
): ParamsOf<'memory/remember'> {
  const { owner, ...rest } = params
  const extension = trusted(params, setting)
  const records = params.records.map((entry) => ({
    ...entry,
    owner: resolve(entry.owner ?? owner ?? extension?.owner, setting) ?? undefined,
  }))
  return { ...rest, records, [EXTENSION]: withoutOwner(extension) }
}

function trusted(params: Owned, { context }: Setting): ExtensionParams | undefined {
  return context.caller.roles.includes(GATEWAY_ROLE) ? params[EXTENSION] : undefined
}

function withoutOwner(extension: ExtensionParams | undefined): ExtensionParams | undefined {
  return extension?.owner === undefined ? extension : { ...extension, owner: undefined }
}

function resolve(named: Owner, { context, mismatch }: Setting): Owner {
  const { scope } = context.caller
  if (scope.kind === 'all') return named
  if (scope.kind === 'ownerless') return null
  if (typeof named === 'string') {
    if (scope.owners.includes(named)) return named
    if (mismatch === 'deny') throw denied()
  }
  return onlyOwner(scope)
}

function onlyOwner(scope: Scope & { readonly kind: 'owners' }): string {
  if (scope.owners.length > 1) {
    throw invalidParams('owner: name one of those that you may act for')
  }
  return scope.owners[0]
}

function denied(): A2mError {
  return new A2mError('SCOPE_DENIED', 'that owner is not yours to act for')
}
