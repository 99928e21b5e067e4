import { readFile, stat } from 'node:fs/promises'
import type { JSONWebKeySet } from 'jose'
import { isObject } from '../protocol/rpc.js'

/** The largest key set that is read, in bytes. */
const MOST = 256 * 1024
const TOO_LARGE = `is larger than ${MOST / 1024} KiB`

/** Reads a key set over HTTP: one answer of 200 within `timeoutMs`, no redirect. Rejects with an Error for people. */
export async function readUrl(url: string, timeoutMs: number): Promise<string> {
  try {
    const response = await fetch(url, {
      headers: { accept: 'application/json' },
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    })
    if (response.status !== 200) {
      await response.body?.cancel()
      throw new Unusable(answered(response.status))
    }
    return await boundedText(response.body)
  } catch (thrown) {
    throw thrown instanceof Unusable ? thrown : new Unusable(whyNot(thrown, timeoutMs))
  }
}

/** Reads a key set from a file. Rejects with an Error for people. */
export async function readKeyFile(path: string): Promise<string> {
  try {
    const { size } = await stat(path)
    if (size > MOST) throw new Unusable(TOO_LARGE)
    return await readFile(path, 'utf8')
  } catch (thrown) {
    throw thrown instanceof Unusable ? thrown : new Unusable(`cannot be read (${codeOf(thrown)})`)
  }
}

/** Takes a text for a key set (RFC 7517). Throws an Error for people; what single keys hold is looked at when they are used. */
export function parseKeySet(text: string): JSONWebKeySet {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Unusable('is not JSON')
  }
  const keys = isObject(value) ? value['keys'] : undefined
  if (!Array.isArray(keys) || !keys.every(isObject)) throw new Unusable('is no JSON Web Key Set')
  return { keys: keys.map((key) => ({ ...key, kty: String(key['kty']) })) }
}

/** Why a key set is not to be had, in words that go after its address. */
class Unusable extends Error {}

function answered(status: number): string {
  const redirect = status >= 300 && status < 400
  return redirect ? `answered ${status}, and redirects are not followed` : `answered ${status}`
}

async function boundedText(body: ReadableStream<Uint8Array> | null): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.byteLength
    if (size > MOST) throw new Unusable(TOO_LARGE)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function whyNot(thrown: unknown, timeoutMs: number): string {
  if (thrown instanceof Error && thrown.name === 'TimeoutError') return `took over ${timeoutMs} ms`
  const cause = thrown instanceof Error ? thrown.cause : undefined
  return `cannot be reached (${codeOf(cause ?? thrown)})`
}

function codeOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'unknown'
  return 'code' in thrown ? String(thrown.code) : thrown.name
}
