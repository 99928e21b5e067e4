import { once } from 'node:events'
import { request } from 'node:http'
import { expect, test } from 'vitest'
import { HTTP_LIMITS } from '../../src/edge/http.js'
import { until } from '../support/waiting.js'
import {
  gate,
  head,
  JSON_HEADERS,
  message,
  NOTHING,
  post,
  RawClient,
  replyIn,
  startEdge,
} from './edge-fixture.js'

const IMPATIENT = { limits: { ...HTTP_LIMITS, headersMs: 150, requestMs: 300 } }

test('a sender that is slow with its headers is cut', async () => {
  const { port, refusals } = await startEdge(() => NOTHING, IMPATIENT)
  const client = await RawClient.open(port)
  const begun = performance.now()
  const received = await client.send('POST / HTTP/1.1\r\nhost: localhost\r\nx: ').toTheEnd()
  expect(received).toMatch(/^HTTP\/1\.1 408 /)
  expect(performance.now() - begun).toBeLessThan(1000)
  expect(refusals).toEqual([408])
})

test('a sender that drips its body is cut, and nothing is called', async () => {
  const calls: unknown[] = []
  const { port } = await startEdge((call) => calls.push(call), IMPATIENT)
  const client = await RawClient.open(port)
  client.send(head('content-type: application/json', 'content-length: 100'))
  const drip = setInterval(() => client.send(' '), 20)
  const received = await client.toTheEnd()
  clearInterval(drip)
  expect(received).toMatch(/^HTTP\/1\.1 408 /)
  expect(calls).toEqual([])
})

test('a connection that says nothing at all is cut', async () => {
  const { port } = await startEdge(() => NOTHING, IMPATIENT)
  await (await RawClient.open(port)).toTheEnd()
})

test('a refused sender that goes on sending is cut too', async () => {
  const { port } = await startEdge(() => NOTHING, IMPATIENT)
  const client = await RawClient.open(port)
  client.send(head('content-type: text/plain', 'transfer-encoding: chunked'))
  const drip = setInterval(() => client.send('1\r\nx\r\n'), 20)
  const received = await client.toTheEnd()
  clearInterval(drip)
  expect(received).toMatch(/^HTTP\/1\.1 415 /)
})

test('a caller that does not read its answer is cut', async () => {
  const size = 30_000_000
  const { port, reports } = await startEdge(() => ({ records: [], prompt: 'x'.repeat(size) }), {
    limits: { ...HTTP_LIMITS, headersMs: 100, requestMs: 100, callMs: 100 },
  })
  const client = await RawClient.open(port)
  client.socket.pause()
  client.send(head('content-type: application/json', `content-length: ${message().length}`))
  client.send(message())
  await until(() => reports.length > 0)
  // A client that does not read cannot see that it has been cut; by now the silence has lasted five times too long.
  await new Promise((resolve) => setTimeout(resolve, 1000))
  client.socket.resume()
  expect((await client.toTheEnd()).length).toBeLessThan(size)
})

test('a call that takes longer than a sender may is no slow sender', async () => {
  const { opened, open } = gate()
  const { url } = await startEdge(() => opened.then(() => NOTHING), IMPATIENT)
  setTimeout(open, 500)
  expect((await post(url, message())).status).toBe(200)
})

test('a caller that hangs up cancels its call within 100 ms', async () => {
  const reached = gate()
  const cancelled = gate()
  const { port, reports } = await startEdge(({ context }) => {
    reached.open()
    context.cancellation.subscribe(cancelled.open)
    return cancelled.opened.then(() => NOTHING)
  })
  const sent = request({ port, method: 'POST', path: '/', headers: JSON_HEADERS })
  sent.on('error', () => {})
  sent.end(message())
  await reached.opened
  const begun = performance.now()
  sent.destroy()
  await cancelled.opened
  expect(performance.now() - begun).toBeLessThan(100)
  await new Promise((resolve) => setImmediate(resolve))
  expect(reports).toMatchObject([{ ending: 'hung_up', method: 'memory/recall' }])
})

test('a call that is answered is not cancelled, and the connection is used again', async () => {
  const cancelled: unknown[] = []
  const sockets = new Set<unknown>()
  const { url, edge } = await startEdge(({ context }) => {
    context.connection.closed.subscribe(() => cancelled.push(context.trace))
    sockets.add(context.connection)
    return NOTHING
  })
  for (let n = 0; n < 5; n++) await (await post(url, message())).text()
  await edge.close(1000)
  expect(sockets.size).toBe(5)
  expect(cancelled).toEqual([])
})

test('over HTTP nothing can be pushed', async () => {
  const { url } = await startEdge(({ context }) => ({
    records: [],
    prompt: String('push' in context.connection),
  }))
  expect((await replyIn(await post(url, message()))).result.prompt).toBe('false')
})

test('the deadline of a call is the limit away', async () => {
  const left: number[] = []
  const { url } = await startEdge(
    ({ context }) => {
      left.push(context.deadline - performance.now())
      return NOTHING
    },
    { limits: { ...HTTP_LIMITS, callMs: 5000 } },
  )
  await post(url, message())
  expect(left).toHaveLength(1)
  expect(left[0]).toBeGreaterThan(4900)
  expect(left[0]).toBeLessThanOrEqual(5000)
})

test('closing lets calls finish and takes no new connections', async () => {
  const reached = gate()
  const hold = gate()
  const { edge, port } = await startEdge(() => {
    reached.open()
    return hold.opened.then(() => NOTHING)
  })
  const client = await RawClient.open(port)
  client.send(head('content-type: application/json', `content-length: ${message().length}`))
  client.send(message())
  await reached.opened
  const closed = edge.close(5000)
  await new Promise((resolve) => setTimeout(resolve, 20))
  const late = new RawProbe(port)
  expect(await late.outcome()).toBe('refused')
  hold.open()
  const received = await client.toTheEnd()
  expect(received).toMatch(/^HTTP\/1\.1 200 /)
  expect(received).toMatch(/connection: close/i)
  expect(received).toMatch(/"result":\{"records":\[\]\}\}$/)
  await closed
})

test('idle, silent and half-sent connections do not hold up closing', async () => {
  const { edge, port } = await startEdge(() => NOTHING)
  const idle = await RawClient.open(port)
  await idle.send('GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n').until(/\}$/)
  const silent = await RawClient.open(port)
  const halfHead = (await RawClient.open(port)).send('POST / HTTP/1.1\r\nho')
  const halfBody = await RawClient.open(port)
  halfBody.send(`${head('content-type: application/json', 'content-length: 100')}{`)
  await new Promise((resolve) => setTimeout(resolve, 20))
  const begun = performance.now()
  await edge.close(10_000)
  expect(performance.now() - begun).toBeLessThan(1500)
  for (const client of [idle, silent, halfHead, halfBody]) await client.toTheEnd()
})

test('a request that was half sent when closing began can become whole', async () => {
  const { edge, port } = await startEdge(() => NOTHING)
  const client = await RawClient.open(port)
  const body = message()
  client.send(`${head('content-type: application/json', `content-length: ${body.length}`)}{`)
  await new Promise((resolve) => setTimeout(resolve, 20))
  const closed = edge.close(5000)
  client.send(body.slice(1))
  const received = await client.toTheEnd()
  expect(received).toMatch(/^HTTP\/1\.1 200 /)
  expect(received).toMatch(/connection: close/i)
  await closed
})

test('a call that does not end is cut when the time to close is over', async () => {
  const reached = gate()
  const cancelled = gate()
  const { edge, url } = await startEdge(({ context }) => {
    context.cancellation.subscribe(cancelled.open)
    reached.open()
    return new Promise(() => {})
  })
  const call = post(url, message()).then(
    () => 'answered',
    () => 'cut',
  )
  await reached.opened
  const begun = performance.now()
  await edge.close(100)
  expect(performance.now() - begun).toBeLessThan(1000)
  await cancelled.opened
  expect(await call).toBe('cut')
})

test('readiness ends when closing begins', async () => {
  const reached = gate()
  const hold = gate()
  const { edge, port, url } = await startEdge(() => {
    reached.open()
    return hold.opened.then(() => NOTHING)
  })
  const half = (await RawClient.open(port)).send(
    'GET /health/ready HTTP/1.1\r\nhost: localhost\r\n',
  )
  const call = post(url, message())
  await reached.opened
  const closed = edge.close(5000)
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(await half.send('\r\n').until(/\}$/)).toMatch(/^HTTP\/1\.1 503 .*"closing"\}$/s)
  hold.open()
  expect((await call).status).toBe(200)
  await closed
})

test('closing what never listened, and closing twice, are nothing special', async () => {
  const { edge } = await startEdge(() => NOTHING)
  await edge.close(100)
  await edge.close(100)
})

/** A connection of which only matters whether it comes about. */
class RawProbe {
  readonly #port: number

  constructor(port: number) {
    this.#port = port
  }

  async outcome(): Promise<'refused' | 'connected'> {
    const sent = request({ port: this.#port, host: '127.0.0.1', path: '/health/live' })
    sent.end()
    return Promise.race([
      once(sent, 'response').then(() => 'connected' as const),
      new Promise<'refused'>((resolve) => sent.on('error', () => resolve('refused'))),
    ])
  }
}
