import { EXTENSION } from './extension.js'
import { isObject } from './rpc.js'

/** What params name of what roles are about: a tier, a key or a prefix of keys, or both together. */
export interface Named {
  /** Where in the params it stands. */
  readonly path: string
  readonly tier?: string | undefined
  readonly key?: string | undefined
}

/** All of it that the params of a call name, by whatever method, in their order. An empty selector is an absent one. */
export function namedIn(params: unknown): Named[] {
  if (!isObject(params)) return []
  return [...selected(params), ...written(params), ...entries(params), ...carried(params)]
}

type Params = Readonly<Record<string, unknown>>

/** What is read or moved: where a key is named beside the tier, both are of one record. */
function selected({ tier, key, key_prefix, where, into }: Params): Named[] {
  const from = textOf(tier)
  const sole = textOf(into) === undefined ? keysIn('key', key) : []
  const prefix = key_prefix === '' ? [] : keysIn('key_prefix', key_prefix)
  const tested = isObject(where) ? keysIn('where.key', where['key']) : []
  const keys = [...sole, ...prefix, ...tested]
  if (keys.length === 0) return from === undefined ? [] : [{ path: 'tier', tier: from }]
  return keys.map((named) => ({ ...named, tier: from }))
}

/** Where a summary is written. */
function written({ into, key }: Params): Named[] {
  const tier = textOf(into)
  return tier === undefined ? [] : [{ path: 'into', tier, key: textOf(key) }]
}

function entries({ records }: Params): Named[] {
  if (!Array.isArray(records)) return []
  return records.flatMap((entry: unknown, index): Named[] => {
    if (!isObject(entry)) return []
    const tier = textOf(entry['tier'])
    const key = textOf(entry['key'])
    return tier === undefined && key === undefined ? [] : [{ path: `records[${index}]`, tier, key }]
  })
}

/** A gateway that moves a record may bring its key along beside it. */
function carried(params: Params): Named[] {
  const extension = params[EXTENSION]
  const list = isObject(extension) ? extension['carried'] : undefined
  if (!Array.isArray(list)) return []
  return list.flatMap((one: unknown, index) =>
    isObject(one) ? keysIn(`records[${index}].key`, one['key']) : [],
  )
}

function keysIn(path: string, wanted: unknown): Named[] {
  const keys: readonly unknown[] = Array.isArray(wanted) ? wanted : [wanted]
  return keys.flatMap((key) => (typeof key === 'string' ? [{ path, key }] : []))
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
