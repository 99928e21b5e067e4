import { afterEach, expect, test } from 'vitest'
import { Cancellation } from '../../src/protocol/cancellation.js'
import { A2mError, Fault, type FaultKind, type Outcome } from '../../src/protocol/errors.js'
import type { Memory } from '../../src/protocol/memory.js'
import { systemClock } from '../../src/protocol/time.js'
import { createClient } from '../../src/transport/client.js'
import { createHttpWire, type HttpOptions, type HttpWire } from '../../src/transport/http.js'
import { type BadKind, type BadUpstream, startBadUpstream } from '../support/bad-upstream.js'
import { contextWithin } from '../support/contexts.js'

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close()
})

interface Setup {
  readonly upstream: BadUpstream
  readonly wire: HttpWire
  readonly memory: Memory
}

async function setUp(kind: BadKind, options: Partial<HttpOptions> = {}): Promise<Setup> {
  const upstream = await startBadUpstream(kind)
  const wire = createHttpWire({ url: upstream.url, clock: systemClock, ...options })
  const memory = createClient(wire)
  opened.push(upstream, memory)
  return { upstream, wire, memory }
}

const recall = (memory: Memory, limit = 5000, query = 'q') =>
  memory.call('memory/recall', { query }, contextWithin(limit))

async function faultOf(call: Promise<unknown>): Promise<Fault> {
  const thrown = await call.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(thrown instanceof Fault)) throw new Error(`no fault but ${String(thrown)}`)
  return thrown
}

test('a healthy upstream answers, and gets what the specification wants and nothing more', async () => {
  const { upstream, memory } = await setUp('healthy', { bearer: 'sesame' })
  const { records } = await recall(memory, 5000, 'grüße')
  expect(records.map((record) => record.content)).toEqual(['grüße'])
  const [request] = upstream.requests
  const names = request?.rawHeaders.filter((_, index) => index % 2 === 0) ?? []
  expect(names.map((name) => name.toLowerCase()).sort()).toEqual([
    'a2m-protocol-version',
    'accept',
    'authorization',
    'connection',
    'content-length',
    'content-type',
    'host',
  ])
  expect(request?.rawHeaders).toContain('Bearer sesame')
  expect(request?.rawHeaders).toContain('a2m/0.1')
  expect(request).toMatchObject({ method: 'POST', path: '/rpc' })
})

const FAULTS: readonly (readonly [BadKind, FaultKind, Outcome, RegExp])[] = [
  ['refused', 'unreachable', 'not_sent', /ECONNREFUSED/],
  ['html', 'bad_reply', 'unknown', /application\/json/],
  ['not_json', 'bad_reply', 'unknown', /not JSON/],
  ['not_utf8', 'bad_reply', 'unknown', /UTF-8/],
  ['empty', 'bad_reply', 'unknown', /empty/],
  ['half_a_body', 'cut', 'unknown', /before the reply was whole/],
  ['huge', 'too_large', 'unknown', /16777216/],
  ['huge_chunked', 'too_large', 'unknown', /16777216/],
  ['wrong_id', 'bad_reply', 'unknown', /another request/],
  ['wrong_result', 'bad_reply', 'unknown', /not a result of memory.remember/],
  ['notification', 'bad_reply', 'unknown', /notification/],
  ['redirect', 'bad_reply', 'unknown', /status 307.*not followed/],
  ['accepted', 'bad_reply', 'unknown', /status 202/],
  ['unauthorized', 'unavailable', 'not_sent', /status 401.*gateway's credential/],
  ['forbidden', 'unavailable', 'not_sent', /status 403.*gateway's credential/],
  ['missing', 'bad_reply', 'not_sent', /status 404/],
  ['overloaded', 'busy', 'not_sent', /status 429/],
  ['failing', 'bad_reply', 'unknown', /status 500/],
  ['down', 'unavailable', 'unknown', /status 503/],
  ['bad_request', 'bad_reply', 'unknown', /status 400/],
  ['reset', 'cut', 'unknown', /before the reply was whole/],
  ['garbage', 'bad_reply', 'unknown', /not HTTP/],
]
test.each(FAULTS)('%s is a fault %s with outcome %s', async (kind, fault, outcome, message) => {
  const { upstream, memory } = await setUp(kind)
  const thrown = await faultOf(
    memory.call('memory/remember', { records: [{ content: 'x' }] }, contextWithin(5000)),
  )
  expect({ kind: thrown.kind, outcome: thrown.outcome }).toEqual({ kind: fault, outcome })
  expect(thrown.message).toMatch(message)
  expect(upstream.requests.length).toBeLessThanOrEqual(1)
})

const SLOW: readonly BadKind[] = [
  'silent',
  'headers_only',
  'trickle',
  'tcp_silent',
  'trickled_headers',
]
test.each(SLOW)('%s: the call ends at its limit and the connection is let go of', async (kind) => {
  const { upstream, memory } = await setUp(kind)
  const from = performance.now()
  const thrown = await faultOf(recall(memory, 200))
  const took = performance.now() - from
  expect(thrown).toMatchObject({ kind: 'timeout', outcome: 'unknown' })
  expect(took).toBeGreaterThan(190)
  expect(took).toBeLessThan(1000)
  await upstream.hungUp()
})

test('a connection that is never made whole leaves the request unsent', async () => {
  const { upstream } = await setUp('tcp_silent')
  const url = new URL(`https://127.0.0.1:${upstream.url.port}/`)
  const memory = createClient(createHttpWire({ url, clock: systemClock }))
  opened.push(memory)
  const thrown = await faultOf(recall(memory, 150))
  expect(thrown).toMatchObject({ kind: 'timeout', outcome: 'not_sent' })
})

test('a connection that takes longer than its own limit is unreachable', async () => {
  const { upstream } = await setUp('tcp_silent')
  const url = new URL(`https://127.0.0.1:${upstream.url.port}/`)
  const memory = createClient(createHttpWire({ url, clock: systemClock, connectTimeout: 100 }))
  opened.push(memory)
  const thrown = await faultOf(recall(memory))
  expect(thrown).toMatchObject({ kind: 'unreachable', outcome: 'not_sent' })
})

test('the wait for a free connection counts, and who waited in vain is never sent', async () => {
  const { upstream, memory } = await setUp('silent', { connections: 1 })
  const first = faultOf(recall(memory, 400, 'first'))
  await upstream.received(1)
  const second = faultOf(recall(memory, 50, 'second'))
  const third = faultOf(recall(memory, 600, 'third'))
  expect(await second).toMatchObject({ kind: 'timeout', outcome: 'not_sent' })
  expect(await first).toMatchObject({ kind: 'timeout', outcome: 'unknown' })
  await third
  expect(upstream.requests.map(({ body }) => JSON.parse(body).params.query)).toEqual([
    'first',
    'third',
  ])
})

test('dropping a request that waited does not cost a connection', async () => {
  const { upstream, memory } = await setUp('healthy', { connections: 1 })
  const cancellation = new Cancellation()
  const first = recall(memory)
  const dropped = memory.call('memory/recall', {}, contextWithin(5000, cancellation))
  cancellation.cancel()
  await expect(dropped).rejects.toMatchObject({ kind: 'cancelled', outcome: 'not_sent' })
  await first
  await recall(memory)
  expect(upstream.requests.length).toBe(2)
  expect(upstream.taken).toBe(1)
})

test('cancelling closes the connection within 100 ms', async () => {
  const { upstream, memory } = await setUp('silent')
  const cancellation = new Cancellation()
  const call = faultOf(memory.call('memory/recall', {}, contextWithin(5000, cancellation)))
  await upstream.received(1)
  const from = performance.now()
  cancellation.cancel()
  await upstream.hungUp()
  expect(performance.now() - from).toBeLessThan(100)
  expect(await call).toMatchObject({ kind: 'cancelled', outcome: 'unknown' })
})

test('nothing is sent for a call that is cancelled or late already', async () => {
  const { upstream, memory } = await setUp('healthy')
  const cancellation = new Cancellation()
  cancellation.cancel()
  const cancelled = await faultOf(
    memory.call('memory/recall', {}, contextWithin(5000, cancellation)),
  )
  expect(cancelled).toMatchObject({ kind: 'cancelled', outcome: 'not_sent' })
  const late = await faultOf(memory.call('memory/recall', {}, contextWithin(-1)))
  expect(late).toMatchObject({ kind: 'timeout', outcome: 'not_sent' })
  expect(upstream.taken).toBe(0)
})

test('200 calls at once each get their own answer, over a bounded number of connections', async () => {
  const { upstream, memory } = await setUp('healthy', { connections: 8 })
  const queries = Array.from({ length: 200 }, (_, index) => `query ${index}`)
  const answers = await Promise.all(queries.map((query) => recall(memory, 5000, query)))
  expect(answers.map(({ records }) => records[0]?.content)).toEqual(queries)
  expect(new Set(upstream.requests.map(({ id }) => id)).size).toBe(200)
  expect(upstream.taken).toBeLessThanOrEqual(8)
})

test('no read fails where idle connections are dropped as the next call comes', async () => {
  const { memory } = await setUp('short_keep_alive')
  for (let call = 0; call < 40; call++) {
    await recall(memory)
    await new Promise((resolve) => setTimeout(resolve, 30))
  }
})

test('a read is sent again when its used connection is reset, a write is not', async () => {
  const { upstream, memory } = await setUp('reset_when_reused')
  for (const query of ['one', 'two', 'three']) {
    expect((await recall(memory, 5000, query)).records[0]?.content).toBe(query)
  }
  expect(upstream.requests.length).toBeGreaterThan(3)
  const sent = upstream.requests.length
  await recall(memory)
  const write = memory.call('memory/remember', { records: [{ content: 'x' }] }, contextWithin(5000))
  expect(await faultOf(write)).toMatchObject({ kind: 'cut', outcome: 'unknown' })
  const writes = upstream.requests.slice(sent).filter(({ body }) => body.includes('remember'))
  expect(writes.length).toBe(1)
})

test('a read whose first connection is reset is not sent again', async () => {
  const { upstream, memory } = await setUp('reset')
  expect(await faultOf(recall(memory))).toMatchObject({ kind: 'cut', outcome: 'unknown' })
  expect(upstream.requests.length).toBe(1)
})

test("the upstream's own errors arrive as they are", async () => {
  const refusing = await setUp('refusing')
  await expect(recall(refusing.memory)).rejects.toSatisfy(
    (thrown) =>
      thrown instanceof A2mError &&
      thrown.code === -32002 &&
      thrown.message === 'no such tier' &&
      thrown.data?.['tier'] === 'x',
  )
  const other = await setUp('other_version')
  await expect(recall(other.memory)).rejects.toMatchObject({ name: 'A2mError', code: -32007 })
})

const SHOUTING: readonly BadKind[] = ['refused', 'redirect', 'unauthorized', 'reset', 'html']
test.each(SHOUTING)(
  '%s: user and password of the URL stay out of messages and off the wire',
  async (kind) => {
    const upstream = await startBadUpstream(kind)
    const url = new URL(`?key=canary-q`, upstream.url)
    url.username = 'canary-u'
    url.password = 'canary-p'
    const memory = createClient(createHttpWire({ url, clock: systemClock, bearer: 'canary-b' }))
    opened.push(upstream, memory)
    const thrown = await faultOf(recall(memory))
    expect(`${thrown.message} ${thrown.stack}`).not.toContain('canary')
    const headers = upstream.requests.flatMap(({ rawHeaders }) => rawHeaders).join(' ')
    expect(headers).not.toContain('canary-u')
    expect(headers).not.toContain('Basic')
  },
)

test('closing waits for what is under way and takes nothing more', async () => {
  const { upstream, memory } = await setUp('silent')
  const pending = faultOf(recall(memory, 150))
  await upstream.received(1)
  const closing = memory.close()
  expect(await faultOf(recall(memory))).toMatchObject({
    kind: 'unavailable',
    outcome: 'not_sent',
  })
  expect(await pending).toMatchObject({ kind: 'timeout' })
  await closing
  await upstream.hungUp()
})

test('the profile is read at the origin of the URL', async () => {
  const { upstream, wire } = await setUp('healthy')
  const profile = await wire.readProfile(contextWithin(5000))
  expect(profile).toMatchObject({ protocol: 'a2m/0.1', name: 'upstream' })
  expect(upstream.requests[0]).toMatchObject({
    method: 'GET',
    path: '/.well-known/a2m-server.json',
  })
})

const WITHOUT_PROFILE: readonly BadKind[] = [
  ...(['html', 'missing', 'redirect', 'unauthorized', 'not_json', 'huge', 'down'] as const),
]
test.each(WITHOUT_PROFILE)('%s: there is no profile', async (kind) => {
  const { upstream, wire } = await setUp(kind)
  expect(await wire.readProfile(contextWithin(5000))).toBeUndefined()
  expect(upstream.requests.length).toBe(1)
})

test('an upstream that does not answer gives a fault instead of a profile', async () => {
  const refused = await setUp('refused')
  expect(await faultOf(refused.wire.readProfile(contextWithin(5000)))).toMatchObject({
    kind: 'unreachable',
  })
  const silent = await setUp('silent')
  expect(await faultOf(silent.wire.readProfile(contextWithin(100)))).toMatchObject({
    kind: 'timeout',
  })
})
