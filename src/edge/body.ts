import type { IncomingMessage } from 'node:http'

/** A whole body, or why there is none: over the limit, or its sender went away or was cut off. */
export type Body = Buffer | 'too_large' | 'cut'

/** Reads a body of at most `maxBytes`. What comes after the limit is thrown away as it arrives. */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Body> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= maxBytes) chunks.push(chunk)
      else resolve('too_large')
    })
    request.on('end', () => resolve(whole(chunks)))
    request.on('error', () => resolve('cut'))
    request.on('close', () => {
      if (!request.readableEnded) resolve('cut')
    })
  })
}

function whole(chunks: Buffer[]): Buffer {
  const [first] = chunks
  return first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks)
}

/** Tells from the headers alone that a body is over the limit. */
export function announcesMore({ headers }: IncomingMessage, maxBytes: number): boolean {
  return Number(headers['content-length']) > maxBytes
}

const JSON_TYPE = /^application\/json\s*(?:;|$)/i
const PARAMETER = /;\s*([^=;\s]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;]*)/g
const UTF_8 = /^"?utf-?8"?\s*$/i

/** Tells whether a body is JSON that can be read as it is. */
export function isJson({ headers }: IncomingMessage): boolean {
  const type = headers['content-type']
  if (isCompressed({ headers })) return false
  return type === 'application/json' || (type !== undefined && isJsonInUtf8(type))
}

/** Tells whether a body is not what it says until it has been unpacked. */
export function isCompressed({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  const encoding = headers['content-encoding']
  return encoding !== undefined && encoding.toLowerCase() !== 'identity'
}

/** Parameters mean nothing to JSON, but for a charset, which must be the one that is read. */
function isJsonInUtf8(type: string): boolean {
  if (!JSON_TYPE.test(type)) return false
  for (const [, name, value = ''] of type.matchAll(PARAMETER)) {
    if (name?.toLowerCase() === 'charset' && !UTF_8.test(value)) return false
  }
  return true
}
