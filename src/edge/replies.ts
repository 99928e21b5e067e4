import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'

/** Sends one JSON document. `body` is JSON already. */
export interface JsonReply {
  readonly status: number
  readonly body: string
  readonly headers?: OutgoingHttpHeaders
}

/** An answer to what never became a message: the reason is for people, and it is the same for the same status. */
export function refusalReply(
  status: number,
  reason: string,
  headers?: OutgoingHttpHeaders,
): JsonReply {
  const body = JSON.stringify({ error: reason })
  return headers === undefined ? { status, body } : { status, body, headers }
}

export const FORBIDDEN = refusalReply(
  403,
  'forbidden: the Origin or Host of this request is not let in; behind a proxy, or for a browser, add the public origin (such as https://memory.example) to allowed_origins of the gateway, which lets in its host too',
)
export const UNAUTHORIZED = refusalReply(
  401,
  'unauthorized: send a valid credential (a key or token as "Authorization: Bearer KEY", or a certificate where clients have some)',
  { 'www-authenticate': 'Bearer' },
)
export const NOT_FOUND = refusalReply(404, 'not found')
export const NOT_POST = refusalReply(405, 'method not allowed: send JSON-RPC by POST', {
  allow: 'POST',
})
export const TOO_LARGE = refusalReply(413, 'content too large')
export const NOT_JSON = refusalReply(
  415,
  'unsupported media type: send application/json in UTF-8, not compressed',
)

/** Told of a request that is turned away; see `Observer.refused`. */
export type Refused = (status: number, version?: string, remote?: string) => void

/** What is refused from here on is about one version. */
export function aboutVersion(refused: Refused, version: string | undefined): Refused {
  return (status, _, remote) => refused(status, version, remote)
}

/** Turns a request away and has it counted. */
export function refuse(response: ServerResponse, reply: JsonReply, refused: Refused): void {
  refused(reply.status, undefined, response.req.socket.remoteAddress)
  sendJson(response, reply)
}

/** Writes a reply unless the other side has gone. What was not read of a request is left to its time limit. */
export function sendJson(response: ServerResponse, reply: JsonReply): void {
  if (response.destroyed || response.headersSent) return
  response.writeHead(reply.status, {
    ...reply.headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(reply.body),
  })
  response.end(reply.body)
}
