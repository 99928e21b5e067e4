import { isUtf8 } from 'node:buffer'
import { A2mError, Fault } from './errors.js'
import { JsonText, print } from './json.js'
import { parse, sourceOfId } from './json-parse.js'
import type { Method, ResultOf } from './methods.js'
import { printable } from './record-printer.js'
import { readRecords } from './record-reader.js'

/** Decodes bytes as UTF-8; anything else is `-32700`. */
export function decode(bytes: Uint8Array): string {
  if (!isUtf8(bytes)) throw new A2mError('PARSE_ERROR', 'the message is not UTF-8')
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}

/** One JSON-RPC request; without `id` it is a notification and is never answered. */
export interface Request {
  readonly id: JsonText | undefined
  readonly method: string
  readonly params: unknown
}

/** What was read, or the error to answer with: `id` is null where none could be read, undefined where nothing is answered. */
export type Reading =
  | { readonly request: Request }
  | { readonly error: A2mError; readonly id: JsonText | null | undefined }

const NOT_ONE_OBJECT = 'a message is one JSON-RPC object'

/** Reads one message of a caller. Arrays are refused (§8); the id is kept to the letter, 1.0 included. */
export function readRequest(text: string): Reading {
  let message: unknown
  try {
    message = parse(text, 'strict')
  } catch (thrown) {
    return thrown instanceof A2mError ? broken(text, thrown) : notJson()
  }
  if (!isObject(message)) return badRequest(NOT_ONE_OBJECT, null)
  const id = message['id']
  const goodId = id instanceof JsonText && isId(id) ? id : undefined
  if (id !== undefined && goodId === undefined)
    return badRequest('id must be a string or number', null)
  const answerTo = goodId ?? null
  if (message['jsonrpc'] !== '2.0') return badRequest('jsonrpc must be "2.0"', answerTo)
  const { method, params } = message
  if (typeof method !== 'string') return badRequest('method must be a string', answerTo)
  return { request: { id: goodId, method, params } }
}

function badRequest(message: string, id: JsonText | null): Reading {
  return { error: new A2mError('INVALID_REQUEST', message), id }
}

/** What JSON.parse throws of a stack too deep or a text too long is no SyntaxError, and still the text's fault. */
function notJson(): Reading {
  return { error: new A2mError('PARSE_ERROR', 'the message is not JSON'), id: null }
}

/** The answer to JSON that breaks a rule of `parse`: under its id, silence where it is a notification. */
function broken(text: string, error: A2mError): Reading {
  const message: unknown = JSON.parse(text)
  if (!isObject(message)) return badRequest(NOT_ONE_OBJECT, null)
  if (message['id'] === undefined) return { error, id: undefined }
  const id = sourceOfId(text)
  return { error, id: id !== undefined && isId(id) ? id : null }
}

/** A string, a number or null, told by how its source begins. */
function isId(id: JsonText): boolean {
  return /^["\-\dn]/.test(id.text)
}

/** An object of JSON, not an array. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function printRequest(id: number, method: Method, params: unknown): string {
  return print({ jsonrpc: '2.0', id, method, params })
}

export function printResult<M extends Method>(
  id: JsonText,
  method: M,
  result: ResultOf<M>,
): string {
  return `{"jsonrpc":"2.0","id":${id.text},"result":${print(printable(method, result))}}`
}

export function printError(id: JsonText | null, error: A2mError): string {
  const { code, message, data } = error
  return `{"jsonrpc":"2.0","id":${id?.text ?? 'null'},"error":${print({ code, message, data })}}`
}

/** A message from a server: the answer to request `id`, or a notification. */
export type Reply =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number | null; readonly error: A2mError }
  | { readonly notification: string; readonly params: unknown }

/** Reads one message of a server. Throws a `Fault` of kind `bad_reply` where it is none. */
export function readReply(text: string): Reply {
  const records = readRecords(text)
  if (records !== undefined) return records
  let message: unknown
  try {
    message = parse(text, 'lenient')
  } catch {
    throw new Fault('bad_reply', 'the reply is not JSON')
  }
  if (!isObject(message) || message['jsonrpc'] !== '2.0') {
    throw new Fault('bad_reply', 'the reply is not a JSON-RPC object')
  }
  const { id, method, result, error } = message
  if (id === undefined && typeof method === 'string') {
    return { notification: method, params: message['params'] }
  }
  if (isObject(error)) return { id: numberOrNull(id), error: readError(error) }
  if (typeof id !== 'number' || result === undefined) {
    throw new Fault('bad_reply', 'the reply has neither a result nor an error')
  }
  return { id, result }
}

function numberOrNull(id: unknown): number | null {
  return typeof id === 'number' ? id : null
}

function readError(error: Readonly<Record<string, unknown>>): A2mError {
  const { code, message, data } = error
  if (typeof code !== 'number' || !Number.isInteger(code)) {
    throw new Fault('bad_reply', 'the error of the reply has no code')
  }
  return new A2mError(
    code,
    typeof message === 'string' ? message : '',
    isObject(data) ? data : undefined,
  )
}
