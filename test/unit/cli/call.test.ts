import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { runHere } from '../../support/fake-terminal.js'

interface Seen {
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** A server that answers every request alike and keeps what it saw. */
async function answering(
  status: number,
  body: string,
  headers = {},
): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = []
  const url = await serving(async (request, response) => {
    seen.push({ headers: request.headers, body: await text(request) })
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
  })
  return { url, seen }
}

/** Its URL. */
async function serving(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not on a port')
  return `http://127.0.0.1:${address.port}/`
}

const result = (json: string): string => `{"jsonrpc":"2.0","id":1,"result":${json}}`

test('sends params to the letter and prints metadata to the letter', async () => {
  const metadata = '{"n":9007199254740993,"z":-0,"1":1.0}'
  const { url, seen } = await answering(
    200,
    result(`{"records":[{"id":"a","metadata":${metadata}}]}`),
  )
  const params = `{"records":[{"content":"x","metadata":${metadata}}]}`
  const told = await runHere(['call', 'remember', params, '--url', url, '--json'])
  expect(told).toEqual({
    code: 0,
    stdout: `{"records":[{"id":"a","metadata":${metadata}}]}\n`,
    stderr: '',
  })
  expect(seen[0]?.body).toBe(
    `{"jsonrpc":"2.0","id":1,"method":"memory/remember","params":${params}}`,
  )
  expect(seen[0]?.headers).toMatchObject({ 'a2m-protocol-version': 'a2m/0.1' })
  expect(seen[0]?.headers.authorization).toBeUndefined()
})

test('is pretty unless told otherwise, without colours where there is no terminal', async () => {
  const { url } = await answering(200, result('{"records":[]}'))
  const { stdout } = await runHere(['call', 'memory/recall', '--url', url])
  expect(stdout).toBe('{\n  "records": []\n}\n')
})

test('takes params from stdin, URL and token from the environment', async () => {
  const { url, seen } = await answering(200, result('{}'))
  const env = { A2M_URL: url, A2M_TOKEN: 'hush' }
  expect((await runHere(['call', 'recall', '-'], { env, input: '{"limit":1}' })).code).toBe(0)
  expect(seen[0]?.body).toContain('"params":{"limit":1}')
  expect(seen[0]?.headers.authorization).toBe('Bearer hush')
})

test('--protocol is the version that the header asks for', async () => {
  const { url, seen } = await answering(200, result('{}'))
  await runHere(['call', 'describe', '--url', url, '--protocol', 'a2m/0.2'])
  expect(seen[0]?.headers).toMatchObject({ 'a2m-protocol-version': 'a2m/0.2' })
})

describe('ends with 2 and says what is wrong with', () => {
  const folder = new URL('.', import.meta.url).pathname
  test.each([
    [['--protocol', 'a b'], 'It is a name such as a2m/0.1, without spaces.'],
    [['--cert', 'call.test.ts'], 'a certificate is shown with its key: give both --cert and --key'],
    [['--ca', 'none.pem'], `${folder}none.pem cannot be read (ENOENT)`],
    [['--ca', 'pretty.test.ts'], `${folder}pretty.test.ts is no PEM file`],
    [['--ca', 'x.pem', '--url', 'http://127.0.0.1/'], 'certificates are for https:// addresses'],
  ])('%j', async (args, message) => {
    const told = await runHere(['call', 'describe', '--url', 'https://127.0.0.1:9/', ...args], {
      cwd: folder,
    })
    expect(told).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) })
  })
})

describe('ends with 1 and says what to do', () => {
  test('an error of the protocol, with its name and data', async () => {
    const error = '{"code":-32003,"message":"not declared","data":{"capability":"keys"}}'
    const { url } = await answering(200, `{"jsonrpc":"2.0","id":1,"error":${error}}`)
    expect(await runHere(['call', 'fetch', '{"key":"a"}', '--url', url])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'a2m-gateway: -32003 CAPABILITY_NOT_SUPPORTED: not declared {"capability":"keys"}\n',
    })
  })

  test('another version', async () => {
    const { url } = await answering(
      400,
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32007,"message":"this server speaks a2m/0.2"}}',
    )
    expect((await runHere(['call', 'describe', '--url', url])).stderr).toBe(
      'a2m-gateway: -32007 PROTOCOL_NOT_SUPPORTED: this server speaks a2m/0.2\n',
    )
  })

  test.each([
    [200, 'Hello', 'what answered there does not speak A2M'],
    [200, '{"jsonrpc":"2.0","id":1}', 'what answered there does not speak A2M'],
    [
      401,
      '{}',
      'the server wants a valid credential: give a key or token with --token or $A2M_TOKEN, or a certificate with --cert and --key',
    ],
    [405, '', 'there is no A2M endpoint at this path; see listen.path of the server'],
    [413, '', 'the params are larger than the server takes; see limits.body_bytes of the server'],
  ])('status %d and %j', async (status, body, message) => {
    const { url } = await answering(status, body)
    expect(await runHere(['call', 'describe', '--url', url])).toEqual({
      code: 1,
      stdout: '',
      stderr: `a2m-gateway: ${message}\n`,
    })
  })

  test('a redirect is not followed', async () => {
    const target = await answering(200, result('{}'))
    const { url } = await answering(307, '', { location: target.url })
    const { code, stderr } = await runHere(['call', 'describe', '--url', url, '--token', 'hush'])
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `a2m-gateway: ${url} answered with HTTP status 307\n`,
    })
    expect(target.seen).toEqual([])
  })

  test('a token that no header can hold', async () => {
    const { url } = await answering(200, result('{}'))
    const { code, stderr } = await runHere(['call', 'describe', '--url', url, '--token', 'a\nb'])
    expect(code).toBe(1)
    expect(stderr).toContain('the token holds characters that no header may')
  })

  test('an answer that is cut off', async () => {
    const { url } = await answering(200, '{', { 'content-length': 100 })
    const { code, stderr } = await runHere(['call', 'describe', '--url', url])
    expect(code).toBe(1)
    expect(stderr).toMatch(/: the connection broke\n$/)
  })

  test('an answer that does not end', async () => {
    const url = await serving((_, response) => void response.write('{'))
    const { code, stderr } = await runHere(['call', 'describe', '--url', url, '--timeout', '0.3'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/: nothing came within 0\.3 s\n$/)
  })

  test('nothing listens', async () => {
    const { code, stderr } = await runHere(['call', 'describe', '--url', 'http://127.0.0.1:9/'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^a2m-gateway: no answer from http:\/\/127\.0\.0\.1:9: .+\n$/)
  })
})
