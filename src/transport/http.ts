import { Fault } from '../protocol/errors.js'
import type { Description } from '../protocol/methods.js'
import { readReply } from '../protocol/rpc.js'
import { descriptionSchema } from '../protocol/schemas.js'
import type { Clock } from '../protocol/time.js'
import { PROTOCOL, VERSION_HEADER } from '../protocol/versions.js'
import type { HttpReply } from './http-exchange.js'
import { HttpPool } from './http-pool.js'
import { statusFault, vouchedFault } from './http-status.js'
import type { Outgoing, Response, Wait, Wire } from './wire.js'

export interface HttpOptions {
  /** The endpoint, http or https. A user and password in it are not used and appear nowhere. */
  readonly url: URL
  readonly clock: Clock
  /** The gateway's own credential at this upstream, for messages that carry none of theirs. */
  readonly bearer?: string | undefined
  /** The most connections, and so the most requests under way, at once; further ones wait. 32 unless given. */
  readonly connections?: number | undefined
  /** The largest reply that is taken, in bytes; 16 MiB unless given. */
  readonly maxReplyBytes?: number | undefined
  /** How long one connection may take to be made, in ms; 5000 unless given. The deadline of a call bounds it too. */
  readonly connectTimeout?: number | undefined
}

/** An A2M server over HTTP (§8.3). */
export interface HttpWire extends Wire {
  /**
   * The description at the well-known address (§8.3.3) of the URL's origin, which may be stale. Undefined where the server
   * answers and has none that can be read; rejects with a `Fault` where it does not answer.
   */
  readProfile(wait: Wait): Promise<Description | undefined>
}

const PROFILE_PATH = '/.well-known/a2m-server.json'
const DEFAULT_CONNECTIONS = 32
const DEFAULT_MAX_REPLY_BYTES = 16 * 1024 * 1024
const DEFAULT_CONNECT_TIMEOUT = 5000

/** Connects when the first request is sent. Redirects are not followed, and nothing of a caller's headers travels along. */
export function createHttpWire({ url, clock, bearer, ...limits }: HttpOptions): HttpWire {
  const anonymous = ['accept', 'application/json', VERSION_HEADER, PROTOCOL]
  const headers = bearer === undefined ? anonymous : withBearer(anonymous, bearer)
  const postHeaders = ['content-type', 'application/json', ...headers]
  const vouchedHeaders = ['content-type', 'application/json', ...anonymous]
  const path = url.pathname + url.search
  const pool = new HttpPool({
    origin: url.origin,
    clock,
    connections: limits.connections ?? DEFAULT_CONNECTIONS,
    maxReplyBytes: limits.maxReplyBytes ?? DEFAULT_MAX_REPLY_BYTES,
    connectTimeout: limits.connectTimeout ?? DEFAULT_CONNECT_TIMEOUT,
  })
  return {
    async send(message) {
      return readAnswer(await post(message))
    },
    async readProfile(wait) {
      return describedBy(
        pool.exchange({
          request: { method: 'GET', path: PROFILE_PATH, headers },
          wait,
          repetition: 'harmless',
          readable: [200],
          refuse: (status) => new Fault('bad_reply', `status ${status}`),
        }),
      )
    },
    close: () => pool.close(),
  }

  function post(message: Outgoing): Promise<HttpReply> {
    const { bearer: vouched, text, repetition } = message
    const headers = vouched === undefined ? postHeaders : withBearer(vouchedHeaders, vouched)
    return pool.exchange({
      request: { method: 'POST', path, headers, body: text },
      wait: message,
      repetition,
      readable: [200, 400],
      refuse: vouched === undefined ? statusFault : vouchedFault,
    })
  }
}

function withBearer(headers: readonly string[], bearer: string): string[] {
  return [...headers, 'authorization', `Bearer ${bearer}`]
}

/** A 400 counts as an answer where it carries an error of the protocol, such as `-32007` (§8.3.2). */
function readAnswer({ status, text }: HttpReply): Response {
  if (status !== 200) return readRefusal(status, text)
  const reply = readReply(text)
  if ('notification' in reply) throw new Fault('bad_reply', 'the reply is a notification')
  return reply
}

function readRefusal(status: number, text: string): Response {
  let reply: ReturnType<typeof readReply> | undefined
  try {
    reply = readReply(text)
  } catch {
    reply = undefined
  }
  if (reply === undefined || !('error' in reply)) throw statusFault(status)
  return reply
}

async function describedBy(reading: Promise<HttpReply>): Promise<Description | undefined> {
  try {
    return descriptionSchema.safeParse(JSON.parse((await reading).text)).data
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined
    const answered =
      thrown instanceof Fault && (thrown.kind === 'bad_reply' || thrown.kind === 'too_large')
    if (answered) return undefined
    throw thrown
  }
}
