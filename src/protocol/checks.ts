import type { z } from 'zod'
import { Fault, invalidParams } from './errors.js'
import { JsonText } from './json.js'
import type { Method, ParamsOf, ResultOf } from './methods.js'
import { isPlainList } from './plain.js'
import { isObject } from './rpc.js'
import { SCHEMAS } from './schemas.js'

/** The schemas of one method; generic code indexes the mapped view, so that params and result stay tied to the name. */
interface MethodSchemas<M extends Method> {
  readonly params: z.ZodType<ParamsOf<M>>
  readonly result: z.ZodType<ResultOf<M>>
}
const CHECKS: { readonly [M in Method]: MethodSchemas<M> } = SCHEMAS

/** Checks a caller's params. Null is absent, unknown ones are dropped (§2); faults are `-32602` with their path. */
export function checkParams<M extends Method>(method: M, params: unknown): ParamsOf<M> {
  if (params !== undefined && !isObject(params)) {
    throw invalidParams('params must be an object, passed by name')
  }
  const parsed = CHECKS[method].params.safeParse(withoutNulls(params ?? {}))
  if (!parsed.success) throw invalidParams(explain(parsed.error))
  return parsed.data
}

/** Checks what an upstream answered, by the same tolerant rules; anything else is a `Fault` of kind `bad_reply`. */
export function checkResult<M extends Method>(method: M, result: unknown): ResultOf<M> {
  if (PLAIN[method]?.(result)) return result
  const tolerant = isObject(result) ? withoutNulls(result) : result
  const parsed = CHECKS[method].result.safeParse(tolerant)
  if (!parsed.success)
    throw new Fault('bad_reply', `not a result of ${method}: ${explain(parsed.error)}`)
  return parsed.data
}

/** Results that need no schema where they are as most are. */
const PLAIN: { readonly [M in Method]?: (result: unknown) => result is ResultOf<M> } = {
  'memory/recall': isPlainList,
  'memory/timeline': isPlainList,
}

/** Where objects stand in which null says absent as well. */
const NULLS_BELOW: ReadonlySet<string> = new Set([
  'record',
  'records',
  'limits',
  'tiers',
  'sessions',
  'prompt',
])

/** Takes nulls out of an object and of the records and the like in it; `record: null` alone is an answer. */
function withoutNulls(value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  let copy: Record<string, unknown> | undefined
  for (const name of Object.keys(value)) {
    const entry = value[name]
    const kept = NULLS_BELOW.has(name) ? clean(entry) : entry
    const absent = isNull(kept) && name !== 'record'
    if (!absent && kept === entry) continue
    copy ??= { ...value }
    if (absent) delete copy[name]
    else copy[name] = kept
  }
  return copy ?? value
}

function clean(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(clean)
  return isObject(value) ? withoutNulls(value) : value
}

function isNull(value: unknown): boolean {
  return value === null || (value instanceof JsonText && value.text === 'null')
}

function explain(error: z.ZodError): string {
  const issue = error.issues[0]
  if (issue === undefined) return 'malformed'
  const { path: steps, message } = plainest(issue)
  const path = steps
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
    .join('')
  return path === '' ? message : `${path.replace(/^\./, '')}: ${message}`
}

type Issue = Pick<z.core.$ZodIssue, 'path' | 'message'>

/** Of what may be several things, the fault that lies deepest is that of what was meant. */
function plainest(issue: z.core.$ZodIssue): Issue {
  if (issue.code !== 'invalid_union') return issue
  const faults = issue.errors.flat().map(plainest)
  const [deepest] = faults.toSorted((a, b) => b.path.length - a.path.length)
  if (deepest === undefined || deepest.path.length === 0) return issue
  return { path: [...issue.path, ...deepest.path], message: deepest.message }
}
