import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { expect, test } from 'vitest'
import { HTTP_LIMITS } from '../../src/edge/http.js'
import { createIdentity } from '../../src/identity/identity.js'
import { newKey } from '../../src/identity/keys.js'
import { A2mError } from '../../src/protocol/errors.js'
import { systemClock } from '../../src/protocol/time.js'
import { meets } from '../support/meets.js'
import {
  head,
  JSON_HEADERS,
  message,
  NOTHING,
  post,
  RawClient,
  replyIn,
  startEdge,
} from './edge-fixture.js'

const ROUTES = ['/', '/.well-known/a2m-server.json', '/health/live', '/health/ready', '/no', '/%zz']
const ALLOWED = 'https://app.example'

/** Sends headers as they are given, doubled ones too; the body is a recall for POST. */
function raw(port: number, path: string, headers: Record<string, string | string[]>) {
  return new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
    const method = path === '/' ? 'POST' : 'GET'
    const sent = request({ port, host: '127.0.0.1', path, method, headers }, (response) => {
      let body = ''
      response.on('data', (chunk) => {
        body += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode, body }))
    })
    sent.on('error', reject)
    sent.end(method === 'POST' ? message() : undefined)
  })
}

test.each([
  ['evil', 'https://evil.example'],
  ['null', 'null'],
  ['upper case', 'HTTPS://APP.EXAMPLE'],
  ['with a port', 'https://app.example:443'],
  ['another scheme', 'http://app.example'],
  ['a suffix', 'https://app.example.evil.example'],
  ['a slash', 'https://app.example/'],
  ['two', [ALLOWED, 'https://evil.example']],
  ['the same twice', [ALLOWED, ALLOWED]],
  ['empty', ''],
])(
  `an Origin that is %s is refused on every route ${meets('8.3.1/refused')}`,
  async (_, origin) => {
    const calls: unknown[] = []
    const { port } = await startEdge((call) => calls.push(call), { allowedOrigins: [ALLOWED] })
    for (const path of ROUTES) {
      const { status, body } = await raw(port, path, { ...JSON_HEADERS, origin })
      expect({ path, status }).toEqual({ path, status: 403 })
      expect(JSON.parse(body)).toHaveProperty('error')
    }
    expect(calls).toEqual([])
  },
)

test(`an allowed Origin is let in, and one that is absent ${meets('8.3.1/absent')}`, async () => {
  const { port } = await startEdge(() => NOTHING, { allowedOrigins: [ALLOWED, 'null'] })
  expect(await raw(port, '/', { ...JSON_HEADERS, origin: ALLOWED })).toMatchObject({ status: 200 })
  expect(await raw(port, '/', JSON_HEADERS)).toMatchObject({ status: 200 })
  expect(await raw(port, '/', { ...JSON_HEADERS, origin: 'null' })).toMatchObject({ status: 403 })
})

test.each([
  ['evil.example', 403],
  ['evil.example:8787', 403],
  ['localhost.evil.example', 403],
  ['127.0.0.1.evil.example', 403],
  ['localhost@evil.example', 403],
  ['169.254.169.254', 403],
  ['[::2]', 403],
  ['localhost', 200],
  ['LOCALHOST:9', 200],
  ['127.0.0.1:9', 200],
  ['127.8.0.1', 200],
  ['[::1]:9', 200],
  ['app.example', 200],
])('on loopback the Host %s is answered %d', async (host, expected) => {
  const { port } = await startEdge(() => NOTHING, { allowedOrigins: [ALLOWED] })
  expect(await raw(port, '/', { ...JSON_HEADERS, host })).toMatchObject({ status: expected })
  expect(await raw(port, '/health/live', { host })).toMatchObject({ status: expected })
})

test.each([
  ['two', 'host: localhost\r\nhost: evil.example\r\n'],
  ['an empty', 'host:\r\n'],
  ['no', ''],
])('%s Host is refused', async (_, lines) => {
  const { port } = await startEdge(() => NOTHING)
  const client = await RawClient.open(port)
  client.send(`GET /health/live HTTP/1.1\r\n${lines}\r\n`)
  expect(await client.until(/\r\n\r\n/)).toMatch(/^HTTP\/1\.1 40[03] /)
})

const alice = newKey(randomBytes)
const bob = newKey(randomBytes)
const identity = createIdentity(
  {
    keys: [
      { name: 'a', owner: 'alice', sha256: alice.sha256, roles: [] },
      { name: 'b', owner: 'bob', sha256: bob.sha256, roles: [] },
    ],
  },
  { clock: systemClock },
)
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

test('without valid credentials the answer is one and the same, whatever else is wrong', async () => {
  const { port, url, refusals } = await startEdge(() => NOTHING, { identity })
  const wrong = [
    {},
    { authorization: 'Bearer ' },
    { authorization: `Basic ${alice.key}` },
    { authorization: alice.key },
    bearer(`${alice.key}x`),
    bearer(alice.sha256),
    bearer('x'.repeat(8000)),
    { ...bearer('no'), 'a2m-protocol-version': 'a2m/9.9' },
    { ...bearer('no'), 'content-type': 'text/plain' },
  ]
  const bodies = new Set<string>()
  for (const headers of wrong) {
    const response = await post(url, '{', headers)
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Bearer')
    bodies.add(await response.text())
  }
  const doubled = { ...JSON_HEADERS, authorization: [`Bearer ${alice.key}`, `Bearer ${bob.key}`] }
  const twice = await rawTwice(port, doubled.authorization)
  expect(twice).toMatch(/^HTTP\/1\.1 401 /)
  bodies.add(twice.slice(twice.indexOf('\r\n\r\n') + 4))
  expect(bodies.size).toBe(1)
  expect(refusals).toEqual(Array(wrong.length + 1).fill(401))
  const huge = 'content-length: 99999999'
  const unread = (await RawClient.open(port)).send(head('content-type: application/json', huge))
  expect(await unread.until(/\}$/)).toMatch(/^HTTP\/1\.1 401 /)
})

async function rawTwice(port: number, values: readonly string[]): Promise<string> {
  const client = await RawClient.open(port)
  const lines = values.map((value) => `authorization: ${value}`)
  return client.send(head(...lines, 'content-length: 0')).until(/\}$/)
}

test(`the key decides the caller ${meets('6/principal')}`, async () => {
  const { url } = await startEdge(
    ({ context: { caller } }) => ({ records: [], prompt: JSON.stringify(caller) }),
    { identity },
  )
  const response = await post(url, message(), { authorization: `bearer ${alice.key}` })
  const { result } = await replyIn(response)
  expect(JSON.parse(result.prompt)).toEqual({
    name: 'a',
    roles: [],
    scope: { kind: 'owners', owners: ['alice'] },
  })
})

test.each(['a2m/0.2', 'a2m/1.0', 'a2m/0.1.0', 'A2M/0.1', '0.1', '', 'a2m/0.1, a2m/0.1'])(
  `the version %j is refused before the body is read ${meets('8.3.2/refused')}`,
  async (version) => {
    const { port } = await startEdge(() => NOTHING)
    const client = await RawClient.open(port)
    client.send(head(`a2m-protocol-version: ${version}`, 'content-length: 500'))
    const received = await client.until(/\}$/)
    expect(received).toMatch(/^HTTP\/1\.1 400 /)
    expect(JSON.parse(received.slice(received.indexOf('\r\n\r\n')))).toMatchObject({
      jsonrpc: '2.0',
      id: null,
      error: { code: -32007, data: { supported: ['a2m/0.1'] } },
    })
  },
)

test(`a version that is spoken is served, and so is none ${meets('8.3.2/absent')}`, async () => {
  const { url } = await startEdge(() => NOTHING)
  for (const headers of [{}, { 'a2m-protocol-version': 'a2m/0.1' }]) {
    expect((await post(url, message(), headers)).status).toBe(200)
  }
})

test.each([
  ['text/plain', 415],
  ['application/jsonp', 415],
  ['application/json; charset=latin1', 415],
  ['application/json, text/plain', 415],
  ['Application/JSON', 200],
  ['application/json; charset=utf-8', 200],
  ['application/json;charset="UTF-8"', 200],
])('content of type %s is answered %d', async (type, expected) => {
  const { url } = await startEdge(() => NOTHING)
  expect((await post(url, message(), { 'content-type': type })).status).toBe(expected)
})

test('content without a type, or compressed, is 415', async () => {
  const { port, url } = await startEdge(() => NOTHING)
  expect((await post(url, message(), { 'content-encoding': 'gzip' })).status).toBe(415)
  const client = (await RawClient.open(port)).send(`${head('content-length: 2')}{}`)
  expect(await client.until(/\}$/)).toMatch(/^HTTP\/1\.1 415 /)
})

const SMALL = { limits: { ...HTTP_LIMITS, maxBodyBytes: 1000 } }

test('content over the limit is 413, at the limit it is read', async () => {
  const { url } = await startEdge(() => NOTHING, SMALL)
  const padded = (size: number) => message({ params: { query: '' } }).padEnd(size)
  expect((await post(url, padded(1000))).status).toBe(200)
  expect((await post(url, padded(1001))).status).toBe(413)
  expect((await post(url, padded(3_000_000))).status).toBe(413)
})

test('content too long is refused by its announced length, before it comes', async () => {
  const { port } = await startEdge(() => NOTHING, SMALL)
  const client = await RawClient.open(port)
  client.send(head('content-type: application/json', 'content-length: 1001'))
  expect(await client.until(/\}$/)).toMatch(/^HTTP\/1\.1 413 /)
})

test('content without an announced length is refused as soon as it is too long', async () => {
  const { port } = await startEdge(() => NOTHING, SMALL)
  const client = await RawClient.open(port)
  client.send(head('content-type: application/json', 'transfer-encoding: chunked'))
  client.send(`3e9\r\n${' '.repeat(1001)}\r\n`)
  expect(await client.until(/\}$/)).toMatch(/^HTTP\/1\.1 413 /)
})

test('content is asked for only once it would be read', async () => {
  const { port } = await startEdge(() => NOTHING, SMALL)
  const expecting = (length: number) =>
    head('content-type: application/json', 'expect: 100-continue', `content-length: ${length}`)
  const refused = (await RawClient.open(port)).send(expecting(1001))
  expect(await refused.until(/\}$/)).toMatch(/^HTTP\/1\.1 413 /)
  const welcome = (await RawClient.open(port)).send(expecting(message().length))
  expect(await welcome.until(/\r\n\r\n/)).toMatch(/^HTTP\/1\.1 100 /)
  expect(await welcome.send(message()).until(/\}$/)).toMatch(/HTTP\/1\.1 200 /)
})

const LATIN1 = Buffer.from(message({ params: { query: 'café' } }), 'latin1')

test.each([
  ['nothing', '', -32700],
  ['half an object', '{"jsonrpc":"2.0","id":1', -32700],
  ['a byte order mark', `\ufeff${message()}`, -32700],
  ['Latin-1', LATIN1, -32700],
  ['an empty batch', '[]', -32600],
  ['a batch of nothing', '[{}]', -32600],
  ['a batch of one', `[${message()}]`, -32600],
  ['a number', '1', -32600],
  ['null', 'null', -32600],
  ['no version of JSON-RPC', '{"method":"memory/recall"}', -32600],
])(`%s is answered in a 200 with id null ${meets('8.3/array')}`, async (_, body, code) => {
  const { url } = await startEdge(() => NOTHING)
  const response = await post(url, body)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('application/json')
  expect(await response.json()).toMatchObject({ jsonrpc: '2.0', id: null, error: { code } })
})

test.each([
  ['arrays', '['.repeat(100_000)],
  ['closed arrays', '['.repeat(100_000) + ']'.repeat(100_000)],
  ['objects', '{"a":'.repeat(100_000)],
  [
    'in params',
    `{"jsonrpc":"2.0","id":1,"method":"memory/recall","params":{"where":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`,
  ],
])('100,000 nested %s are an error and no more', async (_, body) => {
  const { url } = await startEdge(() => NOTHING)
  const response = await post(url, body)
  expect(response.status).toBe(200)
  const { error } = await replyIn(response)
  expect([-32700, -32600, -32602]).toContain(error.code)
  expect((await post(url, message())).status).toBe(200)
})

test.each([
  ['a bad method', message({ id: undefined, method: 'memory/no' })],
  ['bad params', message({ id: undefined, params: { limit: -1 } })],
  ['params by position', message({ id: undefined, params: [1] })],
  ['a memory that fails', message({ id: undefined })],
  ['a memory that serves', message({ id: undefined, method: 'memory/timeline' })],
])(
  `a notification with %s is 202 and nothing more ${meets('8.3/notification')}`,
  async (_, body) => {
    const { url, reports } = await startEdge(({ method }) => {
      if (method === 'memory/recall') throw new A2mError('INTERNAL_ERROR', 'broken')
      return NOTHING
    })
    const response = await post(url, body)
    expect(response.status).toBe(202)
    expect(await response.text()).toBe('')
    expect(response.headers.get('content-type')).toBeNull()
    expect(reports).toMatchObject([{ ending: 'silent', bytesOut: 0 }])
  },
)

test('200 calls at once, all with id 1, of two callers: each gets its own', async () => {
  const { url } = await startEdge(
    async ({ params, context: { caller } }) => {
      await new Promise((resolve) => setImmediate(resolve))
      return { records: [], prompt: `${caller.name} ${JSON.stringify(params)}` }
    },
    { identity },
  )
  const calls = Array.from({ length: 200 }, async (_, index) => {
    const [name, key] = index % 2 === 0 ? ['a', alice.key] : ['b', bob.key]
    const body = message({ params: { query: `q${index}` } })
    const { id, result } = await replyIn(await post(url, body, bearer(key)))
    expect(id).toBe(1)
    expect(result.prompt).toBe(`${name} {"query":"q${index}"}`)
  })
  await Promise.all(calls)
})

test.each(['1', '1.0', '"x"', '9007199254740993', '-0', '1e2', '"\\u0041\\n"', 'null'])(
  'the id %s comes back to the letter',
  async (id) => {
    const { url } = await startEdge(() => NOTHING)
    const text = `{"method":"memory/recall","id" : ${id} ,"jsonrpc":"2.0"}`
    const reply = await (await post(url, text)).text()
    expect(reply.startsWith(`{"jsonrpc":"2.0","id":${id},"result":`)).toBe(true)
  },
)

test.each(['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PROPFIND'])(
  '%s on the endpoint is 405 and says what is allowed',
  async (method) => {
    const { url } = await startEdge(() => NOTHING)
    for (const target of [url, `${url}?x=1`]) {
      const response = await fetch(target, { method })
      expect(response.status).toBe(405)
      expect(response.headers.get('allow')).toBe('POST')
    }
  },
)

test('the endpoint can be elsewhere', async () => {
  const { url } = await startEdge(() => NOTHING, { path: '/a2m' })
  expect((await post(`${url}a2m`, message())).status).toBe(200)
  expect((await post(`${url}a2m?x`, message())).status).toBe(200)
  expect((await post(url, message())).status).toBe(404)
  expect((await post(`${url}a2mx`, message())).status).toBe(404)
})

test.each<[path: string, method: string, status: number]>([
  ['/no', 'GET', 404],
  ['/no', 'POST', 404],
  ['/%zz', 'GET', 400],
  ['/health/live', 'POST', 404],
])('%s by %s is a JSON error without a stack', async (path, method, expected) => {
  const { url } = await startEdge(() => NOTHING)
  const response = await fetch(url + path.slice(1), {
    method,
    headers: JSON_HEADERS,
    ...(method === 'POST' ? { body: '{' } : {}),
  })
  expect(response.status).toBe(expected)
  expect(response.headers.get('content-type')).toBe('application/json')
  expect(Object.keys(await replyIn(response))).toEqual(['error'])
})

test('bytes that are no HTTP are answered in JSON and cut off', async () => {
  const { port } = await startEdge(() => NOTHING)
  const received = await (await RawClient.open(port))
    .send('\u0001\u0002 nonsense\r\n\r\n')
    .toTheEnd()
  expect(received).toMatch(/^HTTP\/1\.1 400 /)
  expect(received).toMatch(/\{"error":"bad request"\}$/)
})

test('headers over the limit are 431', async () => {
  const { port } = await startEdge(() => NOTHING)
  const client = await RawClient.open(port)
  expect(await client.send(head(`x: ${'y'.repeat(20_000)}`)).toTheEnd()).toMatch(/^HTTP\/1\.1 431 /)
})

test('the well-known profile tells no counts and nothing of the upstreams', async () => {
  const { url } = await startEdge(() => NOTHING, {
    wellKnown: async () => ({
      protocol: 'a2m/0.1',
      name: 'acme',
      capabilities: ['core', 'tiers'],
      methods: ['memory/describe'],
      tiers: [{ name: 'episodic', count: 77, capacity: 100, stale: true }],
      federation: { withheld: { keys: ['facts'] }, upstreams: { facts: 'up' } },
    }),
  })
  const response = await fetch(`${url}.well-known/a2m-server.json`)
  expect(response.headers.get('content-type')).toBe('application/json')
  expect(await response.json()).toEqual({
    protocol: 'a2m/0.1',
    name: 'acme',
    capabilities: ['core', 'tiers'],
    methods: ['memory/describe'],
    tiers: [{ name: 'episodic', count: 0, capacity: 100 }],
  })
})

test('a profile that cannot be read is 503', async () => {
  const { url } = await startEdge(() => NOTHING)
  expect((await fetch(`${url}.well-known/a2m-server.json`)).status).toBe(503)
})

test('health is open to all and tells when the gateway cannot serve', async () => {
  let ready = false
  const { url } = await startEdge(() => NOTHING, {
    identity,
    ready: () => (ready ? { state: 'ready' } : { state: 'waiting', reason: 'starting' }),
  })
  expect((await fetch(`${url}health/live`)).status).toBe(200)
  expect((await fetch(`${url}health/ready`)).status).toBe(503)
  ready = true
  expect((await fetch(`${url}health/ready`)).status).toBe(200)
})

test('a trace is taken over from traceparent, otherwise made', async () => {
  const { url, reports } = await startEdge(() => NOTHING)
  const trace = '0af7651916cd43dd8448eb211c80319c'
  await post(url, message(), { traceparent: `00-${trace}-b7ad6b7169203331-01` })
  await post(url, message(), { traceparent: `00-${'0'.repeat(32)}-b7ad6b7169203331-01` })
  await post(url, message())
  const [taken, ...made] = reports.map((report) => report.trace)
  expect(taken).toBe(trace)
  expect(new Set(made).size).toBe(2)
  for (const each of made) expect(each).toMatch(/^(?!0{32})[\da-f]{32}$/)
})
