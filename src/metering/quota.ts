import type { Method } from '../protocol/methods.js'
import { DAY_MS, type Window } from './quota-window.js'

/** One limit, as it is configured. */
export interface QuotaDefinition {
  readonly name: string
  /** `records` and `characters` are those written; `stock` is records that an owner has. */
  readonly of: 'calls' | 'records' | 'characters' | 'stock'
  /** Whom it is counted for: each caller, each owner, or all holders of a role together. */
  readonly per: 'caller' | 'owner' | 'role'
  /** Undefined for a stock. */
  readonly window: Window | undefined
  /** 0 lets nothing through. */
  readonly limit: number
  /** The share of the limit from which on callers are warned. */
  readonly soft: number | undefined
  /** `shadow` counts and tells, and refuses nobody. */
  readonly mode: 'enforce' | 'shadow'
  /** Whom and what it concerns; undefined is everybody, and every method that reads or writes records. */
  readonly callers: readonly string[] | undefined
  readonly roles: readonly string[] | undefined
  readonly owners: readonly string[] | undefined
  readonly methods: readonly Method[] | undefined
}

/** One limit, ready to be looked at for every call. */
export interface Quota extends Pick<QuotaDefinition, 'name' | 'of' | 'per' | 'limit' | 'mode'> {
  /** What its counts are kept under: a limit of another kind or for others, under the same name, begins anew. */
  readonly id: string
  /** A stock has none: its subjects are warned once a day. */
  readonly window: Window
  /** From this count on callers are warned. */
  readonly warnAt: number | undefined
  readonly callers: ReadonlySet<string> | undefined
  readonly roles: ReadonlySet<string> | undefined
  readonly owners: ReadonlySet<string> | undefined
  readonly methods: ReadonlySet<Method> | undefined
}

export function createQuota(definition: QuotaDefinition): Quota {
  const { name, of, per, limit, mode, window = DAY_MS, soft } = definition
  const { callers, roles, owners, methods } = definition
  return {
    name,
    of,
    per,
    limit,
    mode,
    id: `${name}/${of}/${per}`,
    window,
    warnAt: soft === undefined ? undefined : Math.max(1, Math.ceil(soft * limit)),
    callers: callers && new Set(callers),
    roles: roles && new Set(roles),
    owners: owners && new Set(owners),
    methods: methods && new Set(methods),
  }
}
