import type { Question, TextModel } from '../digest/text-model.js'
import { Fault } from '../protocol/errors.js'
import { isObject } from '../protocol/rpc.js'
import type { Clock } from '../protocol/time.js'
import { HttpPool } from './http-pool.js'

export interface ChatModelOptions {
  /** What `/chat/completions` stands under, http or https, such as `https://models.example/v1`. */
  readonly url: URL
  /** Its name at that endpoint, and how callers are told of it. */
  readonly model: string
  /** The gateway's own credential there. */
  readonly bearer: string | undefined
  /** In ms, for the whole of one question; the deadline of the call bounds it too. */
  readonly timeout: number
  readonly clock: Clock
}

/** A text model that holds connections. */
export interface ChatModel extends TextModel {
  close(): Promise<void>
}

/** A prompt or a summary is far smaller; what goes over it is no answer to us. */
const MAX_REPLY_BYTES = 1024 * 1024
/** Questions that are asked at once; further ones wait within their limit. */
const CONNECTIONS = 8
const CONNECT_TIMEOUT = 5000

/**
 * A model behind an endpoint of OpenAI's chat shape. Redirects are not followed, a question is sent once, and its faults hold
 * nothing of what the endpoint said.
 */
export function createChatModel(options: ChatModelOptions): ChatModel {
  const { url, model, bearer, timeout, clock } = options
  const headers = ['content-type', 'application/json', 'accept', 'application/json']
  if (bearer !== undefined) headers.push('authorization', `Bearer ${bearer}`)
  const path = `${url.pathname.replace(/\/+$/, '')}/chat/completions${url.search}`
  const pool = new HttpPool({
    origin: url.origin,
    clock,
    connections: CONNECTIONS,
    maxReplyBytes: MAX_REPLY_BYTES,
    connectTimeout: CONNECT_TIMEOUT,
  })
  return {
    name: model,
    async complete({ system, text, deadline, cancellation }) {
      const { text: reply } = await pool.exchange({
        request: { method: 'POST', path, headers, body: bodyOf(model, { system, text }) },
        wait: { deadline: Math.min(deadline, clock.monotonic() + timeout), cancellation },
        repetition: 'harmful',
        readable: [200],
        refuse,
      })
      return answerIn(reply)
    },
    close: () => pool.close(),
  }
}

function bodyOf(model: string, { system, text }: Pick<Question, 'system' | 'text'>): string {
  const messages = [
    { role: 'system', content: system },
    { role: 'user', content: text },
  ]
  return JSON.stringify({ model, messages, stream: false })
}

const MEANINGS: Readonly<Record<number, string>> = {
  400: 'it does not take the question',
  401: "it refused the gateway's credential; check its auth.bearer",
  403: "it refused the gateway's credential; check its auth.bearer",
  404: 'there is no chat endpoint at its url, or no such model',
  413: 'the question is too large for it',
  429: 'it has too many requests',
}

function refuse(status: number): Fault {
  const redirect = status >= 300 && status < 400
  const meaning = redirect ? 'redirects are not followed' : MEANINGS[status]
  const kind = status === 429 ? 'busy' : status >= 500 ? 'unavailable' : 'bad_reply'
  return new Fault(kind, `status ${status}${meaning === undefined ? '' : `: ${meaning}`}`)
}

/** A text that was cut by the model's own limit is none. */
function answerIn(reply: string): string {
  const [choice] = choicesIn(reply)
  const message = isObject(choice) ? choice['message'] : undefined
  const content = isObject(message) ? message['content'] : undefined
  if (typeof content !== 'string') throw new Fault('bad_reply', 'the reply has no text in it')
  if (LONE_SURROGATE.test(content)) throw new Fault('bad_reply', 'the text is not Unicode')
  if (isObject(choice) && choice['finish_reason'] === 'length') {
    throw new Fault('too_large', 'the text ends where the model had no more room')
  }
  return content
}

const LONE_SURROGATE = /\p{Surrogate}/u

function choicesIn(reply: string): readonly unknown[] {
  const value = parsed(reply)
  const choices = isObject(value) ? value['choices'] : undefined
  return Array.isArray(choices) ? choices : []
}

function parsed(reply: string): unknown {
  try {
    return JSON.parse(reply)
  } catch {
    throw new Fault('bad_reply', 'the reply is not JSON')
  }
}
