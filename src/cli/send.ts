import { type IncomingMessage, request as overHttp } from 'node:http'
import { request as overHttps } from 'node:https'
import { text as readAll } from 'node:stream/consumers'
import type { SecureContext } from 'node:tls'

export interface Sending {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** In ms, from connecting to the last byte of the answer. */
  readonly timeout: number
  /** What is shown and who is trusted, over TLS; without it nothing, and those whom Node knows. */
  readonly secure: SecureContext | undefined
}

export interface Answer {
  readonly status: number
  readonly text: string
}

/**
 * Posts a body, following no redirect. Rejects with the system's error, with a `TimeoutError` where the answer was not whole in
 * time, or with a `TypeError` where a header holds what none may.
 */
export async function send(sending: Sending): Promise<Answer> {
  const signal = AbortSignal.timeout(sending.timeout)
  try {
    const response = await begin(sending, signal)
    return { status: response.statusCode ?? 0, text: await readAll(response) }
  } catch (thrown) {
    signal.throwIfAborted()
    throw thrown
  }
}

function begin(sending: Sending, signal: AbortSignal): Promise<IncomingMessage> {
  const { url, body, secure } = sending
  const headers = { ...sending.headers, 'content-length': Buffer.byteLength(body) }
  const options = { method: 'POST', headers, signal, agent: false }
  return new Promise((resolve, reject) => {
    const sent =
      url.protocol === 'https:'
        ? overHttps(url, { ...options, ...(secure && { secureContext: secure }) })
        : overHttp(url, options)
    sent.on('response', resolve).on('error', reject).end(body)
  })
}
