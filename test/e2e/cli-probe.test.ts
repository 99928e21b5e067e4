import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { emptyFolder, fileIn, LISTENING, Program, run } from '../support/gateway-process.js'
import type { PlainOptions } from '../support/plain-memory.js'
import { onMethod, PlainServer, properly } from '../support/plain-server.js'

const TOKEN = 'token-of-the-probed-store'
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** A folder with a configuration of these upstreams. */
function folderWith(upstreams: object): string {
  const cwd = emptyFolder()
  fileIn(cwd, 'gateway.yaml', JSON.stringify({ upstreams }))
  return cwd
}

function argsFor(upstream: string, ...more: string[]): string[] {
  return ['check', '--config', 'gateway.yaml', '--probe', upstream, ...more]
}

async function startStore(...args: string[]): Promise<string> {
  const store = new Program(['store', '--path', 'store.db', '--http', '0', ...args])
  return store.told(LISTENING)
}

async function contentsAt(url: string): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` },
    body: '{"jsonrpc":"2.0","id":1,"method":"memory/timeline","params":{"limit":0}}',
  })
  return response.json()
}

test('all that a store of its own says is true, over HTTP and over stdio', async () => {
  const url = await startStore('--token-sha256', sha256(TOKEN))
  const open = await startStore()
  const cwd = folderWith({
    web: { url, auth: { bearer: TOKEN } },
    open: { url: open },
    child: { command: [process.execPath, ...childOf('child.db')], timeout: '10s' },
    own: { store: 'sqlite', path: 'own.db' },
  })
  for (const name of ['web', 'open', 'child', 'own']) {
    const { code, stdout, stderr } = await run(argsFor(name), { cwd })
    expect(stderr).toBe('')
    expect(stdout).toContain('All of it is true.')
    expect(stdout).toMatch(new RegExp(`^${name} declares core, tiers, .*; claims tried: \\d{2,}`))
    expect(code).toBe(0)
  }
  expect(await contentsAt(url)).toMatchObject({ result: { records: [] } })
  expect(await contentsAt(open)).toMatchObject({ result: { records: [] } })
})

function childOf(path: string): string[] {
  return [
    new URL('../../dist/cli/main.js', import.meta.url).pathname,
    'store',
    '--path',
    path,
    '--stdio',
  ]
}

const PLAIN = { capabilities: ['core', 'tiers', 'scopes'], tiers: ['one', 'two'] }

test('a store that knows no owners can be told them in metadata', async () => {
  const open = await startStore()
  const { code, stdout } = await run(argsFor('open'), {
    cwd: folderWith({ open: { url: open, owner: 'metadata' } }),
  })
  expect(stdout).toContain('All of it is true.')
  expect(code).toBe(0)
  expect(await contentsAt(open)).toMatchObject({ result: { records: [] } })
})

test.each<[string, PlainOptions]>([
  ['it ignores where on memory/timeline', { faults: ['ignores-where-on-timeline'] }],
  ['it does not keep metadata', { drops: ['metadata'] }],
])('that it cannot is said and told: %s', async (why, options) => {
  const server = await PlainServer.start({ ...PLAIN, capabilities: ['core', 'tiers'], ...options })
  const cwd = folderWith({ theirs: { url: server.url, owner: 'metadata' } })
  const { code, stdout } = await run(argsFor('theirs'), { cwd })
  expect(code).toBe(1)
  expect(stdout).toMatch(new RegExp(`^untrue: scopes: .*${why}`, 'm'))
  expect(server.contents).toEqual([])
})

test('a check without a probe says that where is ignored', async () => {
  const server = await PlainServer.start({ faults: ['ignores-where-on-timeline'] })
  const cwd = folderWith({ theirs: { url: server.url, owner: 'metadata' } })
  const look = () => run(['check', '--config', 'gateway.yaml'], { cwd })
  expect((await look()).code).toBe(0)
  server.memory.records.push({ id: 'x', content: 'x', created_at: '2026-01-01T00:00:00.000Z' })
  const { code, stdout } = await look()
  expect(stdout).toContain(
    'wrong: upstreams.theirs: owner: metadata: it ignores where on memory/timeline',
  )
  expect(code).toBe(1)
})

test('what is untrue is one line each, and nothing is left', async () => {
  const server = await PlainServer.start(
    PLAIN,
    onMethod('memory/recall', async (exchange) => {
      const reply = JSON.parse(await exchange.answer())
      reply.result?.records.reverse()
      exchange.send(JSON.stringify(reply))
    }),
  )
  const cwd = folderWith({ theirs: { url: server.url } })
  const { code, stdout, stderr } = await run(argsFor('theirs'), { cwd })
  expect(code).toBe(1)
  expect(stdout).toMatch(/^untrue: core: scores descend: expected \[1,0\.\d+,0\.\d+\], came \[0\./m)
  expect(stdout).toMatch(/^untrue: tiers: a group is never torn apart: expected two, came one$/m)
  expect(stderr).toMatch(/\d+ things are untrue/)
  expect(server.contents).toEqual([])
  const json = await run(argsFor('theirs', '--json'), { cwd })
  expect(json.code).toBe(1)
  expect(JSON.parse(json.stdout)).toMatchObject({
    ok: false,
    upstream: 'theirs',
    untrue: expect.arrayContaining([
      {
        capability: 'core',
        claim: 'scores descend',
        expected: expect.any(String),
        came: expect.any(String),
      },
    ]),
  })
})

test('Ctrl-C ends it once what it wrote is gone', async () => {
  const server = await PlainServer.start(
    PLAIN,
    onMethod('memory/timeline', () => {}),
  )
  const cwd = folderWith({ theirs: { url: server.url, timeout: '20s' } })
  const program = new Program(argsFor('theirs'), { cwd })
  await server.received('memory/timeline')
  expect(server.contents.length).toBeGreaterThan(0)
  program.child.kill('SIGINT')
  const { code, stdout, stderr } = await program.ended()
  expect(server.contents).toEqual([])
  expect(stdout).toContain('stopped: it was not through')
  expect(stdout).not.toContain('left behind')
  expect(stderr).toContain('the probe was stopped')
  expect(code).toBe(1)
})

test('what it cannot remove, it names', async () => {
  const server = await PlainServer.start(PLAIN)
  server.conduct = async (exchange) => {
    if (exchange.method === 'memory/forget') exchange.response.writeHead(503).end()
    else await properly(exchange)
  }
  const cwd = folderWith({ theirs: { url: server.url } })
  const { code, stdout } = await run(argsFor('theirs'), { cwd })
  expect(code).toBe(1)
  const [, ids = ''] = /^left behind: (.*): no usable answer: .*503/m.exec(stdout) ?? []
  for (const { id } of server.memory.records) expect(ids).toContain(id)
  expect(server.memory.records.length).toBeGreaterThan(5)
})

test.each<[string, object, number, string]>([
  ['is not there', {}, 2, 'upstreams.a: is not there; there are b'],
  [
    'is only read',
    { a: { url: 'http://127.0.0.1:1/', access: 'read-only' } },
    2,
    'never written to',
  ],
  [
    'does not answer',
    { a: { url: 'http://127.0.0.1:1/' } },
    1,
    'a cannot be probed: no usable answer',
  ],
])('an upstream that %s cannot be probed', async (_, upstreams, code, message) => {
  const cwd = folderWith({ b: { store: 'sqlite', path: 'b.db' }, ...upstreams })
  const ended = await run(argsFor('a'), { cwd })
  expect(ended.stderr).toContain(message)
  expect(ended.code).toBe(code)
})

test('a store that takes no writes is held to that, and is not written to', async () => {
  const server = await PlainServer.start({ readOnly: true })
  const cwd = folderWith({ theirs: { url: server.url } })
  const { code, stdout } = await run(argsFor('theirs'), { cwd })
  expect(stdout).toContain('claims tried: 3')
  expect(code).toBe(0)
})
