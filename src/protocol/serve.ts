import { checkParams } from './checks.js'
import { A2mError, toA2mError } from './errors.js'
import type { JsonText } from './json.js'
import type { Context, Memory } from './memory.js'
import { isMethod, type Method, type ResultOf } from './methods.js'
import { printError, printResult, type Request, readRequest } from './rpc.js'

/**
 * A memory that is served to callers: it also says what it refuses whatever the params are, since those refusals come
 * before any look at them (§2, §2.1).
 */
export interface Served extends Memory {
  refusal(method: Method, context: Context): A2mError | undefined
  /**
   * Params as they came, without what must be ignored (§2) and so cannot be malformed either. Throws where ignoring would
   * do more than was asked.
   */
  recognised(method: Method, params: unknown, context: Context): unknown
}

/** What became of one message. `method` is undefined where it named none that exists, `reply` where it was a notification. */
export interface Answer {
  readonly reply: string | undefined
  readonly method: Method | undefined
  readonly error: A2mError | undefined
}

/** Answers one message: at most one reply, never a throw. */
export async function serve(text: string, memory: Served, context: Context): Promise<Answer> {
  const reading = readRequest(text)
  if ('error' in reading) {
    const { id, error } = reading
    return { reply: id === undefined ? undefined : printError(id, error), method: undefined, error }
  }
  const { request } = reading
  const method = isMethod(request.method) ? request.method : undefined
  try {
    if (method === undefined) throw unknownMethod(request.method)
    const result = await call(method, request, memory, context)
    const reply = replyTo(request, (id) => printResult(id, method, result))
    return { reply, method, error: undefined }
  } catch (thrown) {
    const error = toA2mError(thrown)
    return { reply: replyTo(request, (id) => printError(id, error)), method, error }
  }
}

function call(
  method: Method,
  request: Request,
  memory: Served,
  context: Context,
): Promise<ResultOf<Method>> {
  const refusal = memory.refusal(method, context)
  if (refusal !== undefined) throw refusal
  const params = memory.recognised(method, request.params, context)
  return memory.call(method, checkParams(method, params), context)
}

function replyTo(request: Request, print: (id: JsonText) => string): string | undefined {
  return request.id === undefined ? undefined : print(request.id)
}

function unknownMethod(name: string): A2mError {
  return new A2mError('METHOD_NOT_FOUND', `no method ${JSON.stringify(name.slice(0, 80))} in A2M`)
}
