import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { expect, test } from 'vitest'
import { gate, head, message, post, RawClient } from './edge-fixture.js'
import { bytesOf, deny, NEXT, startPassing, startServer } from './pass-through-fixture.js'

/** A request whose body a test writes as it likes. */
function open(url: string, headers: Record<string, string> = {}) {
  const sent = request(url, { method: 'POST', headers: { ...NEXT, ...headers } })
  sent.on('error', () => {})
  const reply = once(sent, 'response').then(([response]) => response as IncomingMessage)
  reply.catch(() => {})
  return { sent, reply }
}

const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

test('what is no JSON goes there and back to the byte, however it is cut up', async () => {
  const body = randomBytes(3 * 1024 * 1024 + 17)
  const url = await startServer((incoming, response) => {
    response.writeHead(207, { 'content-type': 'application/octet-stream' })
    incoming.pipe(response)
  })
  const { url: edge, reports } = await startPassing(url)
  const { sent, reply } = open(edge, { 'content-type': 'application/x-anything' })
  for (let at = 0; at < body.length; at += 65_521) sent.write(body.subarray(at, at + 65_521))
  sent.end()
  const response = await reply
  const back = await bytesOf(response)
  expect(response.statusCode).toBe(207)
  expect(response.headers['content-type']).toBe('application/octet-stream')
  expect(digest(back)).toBe(digest(body))
  expect(reports).toMatchObject([
    {
      method: undefined,
      version: 'next',
      error: undefined,
      bytesIn: body.length,
      bytesOut: body.length,
      usage: undefined,
      asks: [],
      ending: 'answered',
    },
  ])
})

test('nothing waits for the end of a body, in either direction', async () => {
  const arrived = gate()
  const url = await startServer((incoming, response) => {
    incoming.once('data', () => arrived.open())
    incoming.once('end', () => {
      response.write('first')
      response.flushHeaders()
      void answered.opened.then(() => response.end(' last'))
    })
  })
  const answered = gate()
  const { url: edge, reports } = await startPassing(url)
  const { sent, reply } = open(edge)
  sent.write('{"half":')
  await arrived.opened
  sent.end()
  const response = await reply
  const [first] = (await once(response, 'data')) as [Buffer]
  expect(first.toString()).toBe('first')
  expect(reports).toEqual([])
  answered.open()
  expect((await bytesOf(response)).toString()).toBe(' last')
  expect(reports).toMatchObject([{ bytesIn: 8, bytesOut: 10 }])
})

test('the end of a reply goes out once what it cost is kept', async () => {
  const kept = gate()
  const asked = gate()
  const url = await startServer((incoming, response) => {
    incoming.resume()
    response.end('all of it')
  })
  const { url: edge } = await startPassing(url, {
    keep() {
      asked.open()
      return kept.opened
    },
  })
  const { sent, reply } = open(edge)
  sent.end('{}')
  const response = await reply
  let ended = false
  response.once('end', () => {
    ended = true
  })
  const [body] = (await once(response, 'data')) as [Buffer]
  await asked.opened
  await new Promise(setImmediate)
  expect([body.toString(), ended]).toEqual(['all of it', false])
  kept.open()
  await once(response, 'end')
})

test('one trace, the caller’s where it has one, is that of the leave and of the report', async () => {
  const url = await startServer((_, response) => response.end('{}'))
  const traces: string[] = []
  const { url: edge, reports } = await startPassing(url, {
    leaveFor(_, trace) {
      traces.push(trace)
      return { bearer: undefined }
    },
  })
  const trace = 'a'.repeat(32)
  await post(edge, '{}', { ...NEXT, traceparent: `00-${trace}-${'b'.repeat(16)}-01` })
  await post(edge, '{}', NEXT)
  expect(traces).toEqual([trace, expect.stringMatching(/^[\da-f]{32}$/)])
  expect(reports.map((report) => report.trace)).toEqual(traces)
})

test('of the caller’s headers none but the type, what it accepts and the version arrive', async () => {
  const seen: Record<string, unknown>[] = []
  const url = await startServer((incoming, response) => {
    seen.push({ ...incoming.headers, url: incoming.url })
    response.end(JSON.stringify(incoming.headers))
  })
  const { url: edge } = await startPassing(url, { bearer: 'of-the-gateway' })
  const response = await post(edge, '{}', {
    ...NEXT,
    authorization: 'Bearer of-the-caller',
    cookie: 'session=of-the-caller',
    accept: 'application/json, text/plain',
    'x-forwarded-for': '192.0.2.1',
    'x-canary': 'of-the-caller',
    traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
    'accept-language': 'pt',
    'user-agent': 'of-the-caller',
  })
  expect(seen).toEqual([
    {
      'a2m-protocol-version': 'next',
      accept: 'application/json, text/plain',
      authorization: 'Bearer of-the-gateway',
      connection: 'keep-alive',
      'content-length': '2',
      'content-type': 'application/json',
      host: new URL(url).host,
      url: '/memory?v=2',
    },
  ])
  expect(await response.text()).not.toContain('of-the-caller')
})

test('headers of one connection stay on it', async () => {
  const url = await startServer((incoming, response) => {
    incoming.resume()
    response.writeHead(200, {
      'content-type': 'application/json',
      connection: 'keep-alive, x-hop',
      'x-hop': 'hop-canary',
      'proxy-authenticate': 'Basic realm="hop-canary"',
      'keep-alive': 'timeout=77, hop-canary',
      te: 'hop-canary',
      trailer: 'x-after',
      upgrade: 'hop-canary',
      'set-cookie': 'hop-canary=1',
      'www-authenticate': 'Bearer realm="hop-canary"',
      server: 'hop-canary',
    })
    response.end('{}')
  })
  const { port } = await startPassing(url)
  const client = await RawClient.open(port)
  client.send(
    head(
      'a2m-protocol-version: next',
      'content-length: 2',
      'te: trailers',
      'keep-alive: 5',
      'connection: close, x-mine',
      'x-mine: 1',
    ),
  )
  client.send('{}')
  const answer = await client.toTheEnd()
  expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  expect(answer).toContain('content-type: application/json')
  expect(answer).not.toContain('hop-canary')
  expect(answer).not.toContain('x-after')
})

test('an error of the server elsewhere is the caller’s to read', async () => {
  const url = await startServer((incoming, response) => {
    incoming.resume()
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"of its own"}')
  })
  const { url: edge } = await startPassing(url)
  const response = await post(edge, '{}', NEXT)
  expect([response.status, await response.text()]).toEqual([400, '{"error":"of its own"}'])
})

test.each([
  [302, 'redirects are not followed'],
  [401, "refused the gateway's credential"],
  [407, 'A2M answers with 200'],
])('status %i, which is not the caller’s business, is a 502', async (status, why) => {
  const url = await startServer((incoming, response) => {
    incoming.resume()
    response.writeHead(status, { location: 'http://127.0.0.1:1/', 'content-type': 'text/plain' })
    response.end('canary')
  })
  const { url: edge, reports } = await startPassing(url)
  const response = await post(edge, '{}', NEXT)
  const text = await response.text()
  expect(response.status).toBe(502)
  expect(JSON.parse(text)).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32603 } })
  expect(text).toContain(why)
  expect(text).not.toContain('canary')
  expect(reports).toMatchObject([{ version: 'next', error: { code: -32603 }, bytesOut: 0 }])
})

test('a server that is not there is a 502 that says nothing was done', async () => {
  const { url: edge, reports } = await startPassing('http://127.0.0.1:1/')
  const response = await post(edge, '{}', NEXT)
  expect(response.status).toBe(502)
  expect(await response.json()).toMatchObject({
    id: null,
    error: { code: -32603, data: { fault: 'unreachable', outcome: 'not_sent' } },
  })
  expect(reports).toMatchObject([{ error: { code: -32603 }, ending: 'answered' }])
})

test('a server that hangs up without a word is a 502, and it may have acted', async () => {
  const url = await startServer((incoming) => {
    incoming.resume()
    incoming.once('end', () => incoming.socket.destroy())
  })
  const { url: edge } = await startPassing(url)
  const response = await post(edge, '{}', NEXT)
  expect(response.status).toBe(502)
  expect(await response.json()).toMatchObject({
    error: { data: { fault: 'cut', outcome: 'unknown' } },
  })
})

test('a server that does not answer in time is a 504, and it may have acted', async () => {
  const gone = gate()
  const url = await startServer((incoming) => {
    incoming.resume()
    incoming.socket.once('close', gone.open)
  })
  const { url: edge } = await startPassing(url, { limits: { callMs: 200 } })
  const response = await post(edge, '{}', NEXT)
  expect(response.status).toBe(504)
  expect(await response.json()).toMatchObject({
    error: { data: { fault: 'timeout', outcome: 'unknown' } },
  })
  await gone.opened
})

test('a reply that never ends is cut at the time limit, and seen to be cut', async () => {
  const url = await startServer((incoming, response) => {
    incoming.resume()
    response.write('half')
  })
  const { url: edge, reports } = await startPassing(url, { limits: { callMs: 300 } })
  const response = await post(edge, '{}', NEXT)
  expect(response.status).toBe(200)
  await expect(response.text()).rejects.toThrow()
  expect(reports).toMatchObject([{ bytesOut: 4, error: { data: { fault: 'timeout' } } }])
})

test('a reply that breaks off is seen to break off', async () => {
  const url = await startServer((incoming, response) => {
    incoming.resume()
    response.write('half', () => response.socket?.destroy())
  })
  const { url: edge, reports } = await startPassing(url)
  const response = await post(edge, '{}', NEXT)
  await expect(response.text()).rejects.toThrow()
  expect(reports).toMatchObject([{ error: { code: -32603 }, bytesOut: 4 }])
})

test.each([
  ['before its body is whole', false],
  ['while it waits', true],
])('who hangs up %s is not waited for by anybody', async (_, whole) => {
  const arrived = gate()
  const gone = gate()
  const url = await startServer((incoming) => {
    incoming.once('data', arrived.open)
    incoming.socket.once('close', gone.open)
  })
  const { url: edge, reports } = await startPassing(url)
  const { sent } = open(edge)
  if (whole) sent.end('{"half":')
  else sent.write('{"half":')
  await arrived.opened
  const start = performance.now()
  sent.destroy()
  await gone.opened
  expect(performance.now() - start).toBeLessThan(100)
  await expect.poll(() => reports).toMatchObject([{ ending: 'hung_up', bytesIn: 8 }])
})

test('a body over the limit is a 413, announced or not', async () => {
  const lengths: number[] = []
  const url = await startServer(async (incoming, response) => {
    const body = await bytesOf(incoming).catch(() => Buffer.alloc(0))
    lengths.push(body.length)
    response.end()
  })
  const {
    url: edge,
    reports,
    refusals,
  } = await startPassing(url, { limits: { maxBodyBytes: 1000 } })
  const announced = await post(edge, 'x'.repeat(1001), NEXT)
  expect([announced.status, refusals, lengths]).toEqual([413, [413], []])
  const { sent, reply } = open(edge)
  for (let count = 0; count < 5; count++) sent.write('y'.repeat(300))
  sent.end()
  expect((await reply).statusCode).toBe(413)
  expect(reports).toMatchObject([{ error: { code: -32600 } }])
  expect(lengths.every((length) => length <= 1000)).toBe(true)
  const exact = await post(edge, 'z'.repeat(1000), NEXT)
  expect([exact.status, lengths.at(-1)]).toEqual([200, 1000])
})

test('what is packed is refused, since how would not travel along', async () => {
  const { url: edge, refusals } = await startPassing('http://127.0.0.1:1/')
  const response = await post(edge, '{}', { ...NEXT, 'content-encoding': 'gzip' })
  expect([response.status, refusals]).toEqual([415, [415]])
})

test('who may not be let through is told so, and nothing of it is passed on', async () => {
  let asked = 0
  const url = await startServer((_, response) => {
    asked++
    response.end()
  })
  const { url: edge, refusals, reports } = await startPassing(url, { leaveFor: deny })
  const response = await post(edge, message(), NEXT)
  expect(response.status).toBe(403)
  expect(await response.json()).toEqual({
    jsonrpc: '2.0',
    id: null,
    error: { code: -32005, message: 'not you' },
  })
  expect([asked, refusals, reports]).toEqual([0, [403], []])
  expect((await post(edge, message())).status).toBe(200)
})

test('who asks before sending is told to go on', async () => {
  const url = await startServer((incoming, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    incoming.pipe(response)
  })
  const { port } = await startPassing(url)
  const client = await RawClient.open(port)
  client.send(head('a2m-protocol-version: next', 'content-length: 2', 'expect: 100-continue'))
  await client.until(/^HTTP\/1\.1 100 Continue\r\n\r\n/)
  client.send('{}')
  const answer = await client.until(/0\r\n\r\n$/)
  expect(answer).toContain('HTTP/1.1 200 OK')
  expect(answer).toContain('\r\n\r\n2\r\n{}\r\n0\r\n')
})

test('a version that is to go says so with every answer, the others with none', async () => {
  const url = await startServer((incoming, response) => {
    incoming.resume()
    response.end('{}')
  })
  const retirement = { deprecation: '@1782864000', sunset: 'Sun, 31 Jan 2027 00:00:00 GMT' }
  const { url: edge } = await startPassing(url, { retirement, limits: { maxBodyBytes: 100 } })
  const told = async (body: string, headers: object) => {
    const response = await post(edge, body, headers)
    await response.arrayBuffer()
    const { status } = response
    return [status, response.headers.get('deprecation'), response.headers.get('sunset')]
  }
  const both = ['@1782864000', 'Sun, 31 Jan 2027 00:00:00 GMT']
  expect(await told('{}', NEXT)).toEqual([200, ...both])
  expect(await told('x'.repeat(101), NEXT)).toEqual([413, ...both])
  expect(await told('{}', { ...NEXT, 'content-encoding': 'br' })).toEqual([415, ...both])
  expect(await told(message(), {})).toEqual([200, null, null])
  expect(await told(message(), { 'a2m-protocol-version': 'a2m/9.9' })).toEqual([400, null, null])
})

test('a connection goes on after a request that was passed on, and after one that could not be', async () => {
  let asked = 0
  const url = await startServer((incoming, response) => {
    incoming.resume()
    if (++asked === 2) response.socket?.destroy()
    else response.end(`answer ${asked}`)
  })
  const { port } = await startPassing(url)
  const client = await RawClient.open(port)
  const next = head('a2m-protocol-version: next', 'content-length: 2')
  client.send(`${next}{}`)
  await client.until(/answer 1/)
  client.send(`${next}{}`)
  await client.until(/502 Bad Gateway[^}]*\}/)
  client.send(`${next}{}`)
  expect(await client.until(/answer 3/)).toContain('answer 3')
})
