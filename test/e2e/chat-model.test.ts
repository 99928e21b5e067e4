import { describe, expect, onTestFinished, test } from 'vitest'
import { Cancellation } from '../../src/protocol/cancellation.js'
import { Fault } from '../../src/protocol/errors.js'
import { systemClock } from '../../src/protocol/time.js'
import { type ChatModelOptions, createChatModel } from '../../src/transport/chat-model.js'
import { type BadKind, startBadUpstream } from '../support/bad-upstream.js'
import { saying, startChatServer } from '../support/chat-server.js'

const SECRET = 'sk-secret-of-the-model'

function modelAt(url: URL | string, over: Partial<ChatModelOptions> = {}) {
  const options = { model: 'small', bearer: SECRET, timeout: 5000, clock: systemClock }
  const model = createChatModel({ url: new URL(url), ...options, ...over })
  onTestFinished(() => model.close())
  return model
}

const asking = (limit = 10_000, cancellation = new Cancellation()) => ({
  system: 'be brief',
  text: 'what is remembered',
  deadline: systemClock.monotonic() + limit,
  cancellation,
})

async function faultOf(call: Promise<unknown>): Promise<Fault> {
  const thrown = await call.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(thrown instanceof Fault)) throw new Error(`no fault but ${String(thrown)}`)
  expect(thrown.message).not.toContain(SECRET)
  return thrown
}

test('a question goes out in the chat shape, with its own key, and the text comes back', async () => {
  const chat = await startChatServer(saying('grüße 😀'))
  expect(await modelAt(chat.url).complete(asking())).toBe('grüße 😀')
  expect(chat.asked).toEqual([
    {
      path: '/v1/chat/completions',
      authorization: `Bearer ${SECRET}`,
      body: {
        model: 'small',
        messages: [
          { role: 'system', content: 'be brief' },
          { role: 'user', content: 'what is remembered' },
        ],
        stream: false,
      },
    },
  ])
})

test('the URL may end in a slash and carry a query; without a key none is sent', async () => {
  const chat = await startChatServer(saying('x'))
  await modelAt(`${chat.url}/?version=2`, { bearer: undefined }).complete(asking())
  expect(chat.asked).toMatchObject([
    { path: '/v1/chat/completions?version=2', authorization: undefined },
  ])
})

test.each<[BadKind, Fault['kind'], string]>([
  ['html', 'bad_reply', 'not of type application/json'],
  ['not_json', 'bad_reply', 'not JSON'],
  ['not_utf8', 'bad_reply', 'not UTF-8'],
  ['empty', 'bad_reply', 'empty'],
  ['healthy', 'bad_reply', 'no text in it'],
  ['huge', 'too_large', 'over 1048576 bytes'],
  ['huge_chunked', 'too_large', 'over 1048576 bytes'],
  ['redirect', 'bad_reply', 'status 307: redirects are not followed'],
  ['unauthorized', 'bad_reply', 'status 401: it refused the gateway'],
  ['missing', 'bad_reply', 'status 404'],
  ['overloaded', 'busy', 'status 429'],
  ['failing', 'unavailable', 'status 500'],
  ['down', 'unavailable', 'status 503'],
  ['reset', 'cut', 'ended before the reply'],
  ['refused', 'unreachable', 'no connection'],
])('an endpoint that is %s gives a fault', async (kind, fault, message) => {
  const endpoint = await startBadUpstream(kind)
  onTestFinished(() => endpoint.close())
  const thrown = await faultOf(modelAt(endpoint.url).complete(asking()))
  expect(thrown).toMatchObject({ kind: fault, message: expect.stringContaining(message) })
  expect(endpoint.requests.length).toBeLessThanOrEqual(1)
})

describe('whatever it does, it is waited for no longer than', () => {
  test.each<BadKind>(['silent', 'headers_only', 'trickle', 'tcp_silent', 'trickled_headers'])(
    'its own limit, where it is %s',
    async (kind) => {
      const endpoint = await startBadUpstream(kind)
      onTestFinished(() => endpoint.close())
      const start = systemClock.monotonic()
      const thrown = await faultOf(modelAt(endpoint.url, { timeout: 200 }).complete(asking()))
      expect(thrown.kind).toBe('timeout')
      expect(systemClock.monotonic() - start).toBeLessThan(2000)
    },
  )

  test('the call, or its caller', async () => {
    const endpoint = await startBadUpstream('silent')
    onTestFinished(() => endpoint.close())
    const model = modelAt(endpoint.url)
    expect((await faultOf(model.complete(asking(150)))).kind).toBe('timeout')
    const cancellation = new Cancellation()
    const left = faultOf(model.complete(asking(10_000, cancellation)))
    await endpoint.received(2)
    cancellation.cancel()
    expect((await left).kind).toBe('cancelled')
  })
})

test.each<[string, unknown, string]>([
  ['no choice', { choices: [] }, 'no text'],
  ['an error in a 200', { error: { message: SECRET } }, 'no text'],
  ['a refusal', saying(null), 'no text'],
  ['parts', saying([{ type: 'text', text: 'x' }]), 'no text'],
  ['half a text', saying('half a', 'length'), 'had no more room'],
  ['half a character', saying('\ud800'), 'not Unicode'],
  ['a list', [], 'no text'],
  ['null', null, 'no text'],
])('%s is no answer', async (_, reply, message) => {
  const chat = await startChatServer(reply)
  expect((await faultOf(modelAt(chat.url).complete(asking()))).message).toContain(message)
})
