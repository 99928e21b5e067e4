import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { CAPABILITIES } from '../../src/protocol/methods.js'
import { ADMIN, emptyFolder, fileIn, LISTENING, Program, run } from '../support/gateway-process.js'
import { until } from '../support/waiting.js'

const QUIET = 'log: { level: silent }\nadmin: { port: 0 }\n'

function serve(cwd: string, config = QUIET, args: readonly string[] = []): Program {
  const file = fileIn(cwd, 'gateway.yaml', config)
  return new Program(['serve', '--config', file, '--port', '0', ...args], { cwd })
}

/** By the command line tool, in a process of its own. */
async function callByTool(url: string, method: string, params: unknown): Promise<unknown> {
  const { code, stdout, stderr } = await run([
    'call',
    method,
    JSON.stringify(params),
    '--url',
    url,
    '--json',
  ])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout)
}

async function call(url: string, method: string, params: unknown): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: `memory/${method}`, params }),
  })
  return ((await response.json()) as { result: unknown }).result
}

describe('serve', () => {
  test('is ready when it says so, keeps what it is told, and ends with 0', async () => {
    const cwd = emptyFolder()
    const first = serve(cwd)
    const url = await first.told(LISTENING)
    const admin = await first.told(ADMIN)
    for (const base of [url, admin]) {
      expect((await fetch(new URL('/health/ready', base))).status).toBe(200)
    }
    const { ids } = (await callByTool(url, 'remember', {
      records: [{ content: 'the deploy key rotates every 90 days', tier: 'semantic' }],
    })) as { ids: string[] }
    first.child.kill('SIGTERM')
    expect(await first.ended()).toMatchObject({ code: 0, stdout: '' })

    const second = serve(cwd)
    const recalled = await call(await second.told(LISTENING), 'recall', { query: 'deploy key' })
    expect(recalled).toMatchObject({ records: [{ id: ids[0], tier: 'semantic' }] })
  })

  test('what it makes folders for is for its own user alone', async () => {
    const cwd = emptyFolder()
    const sinks = 'usage: { sinks: { a: { jsonl: told/a.jsonl } } }\n'
    const stores = 'upstreams: { a: { store: sqlite, path: stores/a.db } }\n'
    const url = await serve(cwd, `${QUIET}${sinks}${stores}`).told(LISTENING)
    await call(url, 'recall', { query: 'x' })
    const data = join(cwd, 'data')
    await until(() => readdirSync(data).includes('told'))
    const modes = ['', 'usage', 'stores', 'told'].map((name) => statSync(join(data, name)).mode)
    expect(modes.map((mode) => mode & 0o777)).toEqual([0o700, 0o700, 0o700, 0o700])
  })

  test('it says which process signals are for, and what they do', async () => {
    const gateway = serve(emptyFolder())
    const pid = await gateway.told(
      /^pid (\d+): SIGHUP reads the configuration again, SIGTERM stops$/m,
    )
    expect(Number(pid)).toBe(gateway.child.pid)
  })

  test('the curl that it prints works as it stands', async () => {
    const gateway = serve(emptyFolder())
    await gateway.told(/^(try: )/m)
    const [, url = '', body = ''] = /^try: curl -s (\S+) .* -d '(.*)'$/m.exec(gateway.stderr) ?? []
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(url, { method: 'POST', headers, body })
    expect(await response.json()).toMatchObject({ result: { protocol: 'a2m/0.1' } })
  })

  test('the well-known profile promises what describe promises, and no count', async () => {
    const url = await serve(emptyFolder()).told(LISTENING)
    const told = (await call(url, 'describe', {})) as { capabilities: []; methods: [] }
    const response = await fetch(new URL('/.well-known/a2m-server.json', url))
    const { capabilities, methods } = told
    expect(await response.json()).toMatchObject({ capabilities, methods })
    const all = CAPABILITIES.filter((capability) => capability !== 'scopes')
    expect(capabilities).toEqual(all)
  })

  test('operators see metrics and upstreams, the public does not', async () => {
    const gateway = serve(emptyFolder())
    const url = await gateway.told(LISTENING)
    const admin = await gateway.told(ADMIN)
    await call(url, 'recall', { query: 'x' })
    const metrics = await (await fetch(new URL('/metrics', admin))).text()
    expect(metrics).toContain('a2m_requests_total{method="memory/recall",outcome="ok"} 1')
    expect(metrics).toContain('a2m_upstream_state{upstream="knowledge",state="up"} 1')
    const upstreams = await (await fetch(new URL('/upstreams', admin))).json()
    expect(upstreams).toMatchObject([{ name: 'working', state: 'up', breaker: 'closed' }, {}, {}])
    for (const path of ['/metrics', '/upstreams']) {
      expect((await fetch(new URL(path, url))).status).toBe(404)
    }
  })

  test('admin: off opens one listener', async () => {
    const gateway = serve(emptyFolder(), 'log: { level: silent }\nadmin: off\n')
    await gateway.told(/^(try: )/m)
    expect(gateway.stderr).not.toMatch(ADMIN)
  })
})

describe('a start that fails says why in one line and ends with 1', () => {
  test('the port is taken', async () => {
    const { server, port } = await listening(createServer())
    const cwd = emptyFolder()
    const file = fileIn(cwd, 'gateway.yaml', QUIET)
    const { code, stderr } = await run(['serve', '-c', file, '--port', String(port)], { cwd })
    server.close()
    expect(code).toBe(1)
    expect(stderr).toBe(
      `a2m-gateway: 127.0.0.1:${port} is in use; end what listens there, or choose another port with --port or listen.port in the configuration\n`,
    )
  })

  test('the data folder cannot be made', async () => {
    const cwd = emptyFolder()
    fileIn(cwd, 'data', '')
    const { code, stderr } = await serve(cwd).ended()
    expect(code).toBe(1)
    expect(stderr).toBe(`a2m-gateway: ${join(cwd, 'data')} is a file where a folder is needed\n`)
  })

  test.each(['gateway.db', 'knowledge.db'])('%s is no database', async (name) => {
    const cwd = emptyFolder()
    mkdirSync(join(cwd, 'data'))
    writeFileSync(join(cwd, 'data', name), 'no database at all '.repeat(100))
    const { code, stderr } = await serve(cwd).ended()
    expect(code).toBe(1)
    expect(stderr).toMatch(/^a2m-gateway: [^\n]*\n$/)
    expect(stderr).toContain(join(cwd, 'data', name))
  })
})

describe('a signal', () => {
  test('the second one ends it at once, whatever is under way', async () => {
    const silent = createServer((request) => request.resume())
    const { port } = await listening(silent)
    const cwd = emptyFolder()
    const upstream = `upstreams: { a: { url: "http://127.0.0.1:${port}/", timeout: 20s, access: read-write } }\n`
    const gateway = serve(cwd, `${QUIET}${upstream}tiers: { t: { upstream: a } }\n`)
    const metrics = new URL('metrics', await gateway.told(ADMIN))
    const pending = fetch(await gateway.told(LISTENING), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"jsonrpc":"2.0","id":1,"method":"memory/recall","params":{"query":"x"}}',
    }).catch(() => 'cut off')
    await until(async () => /^a2m_requests_in_flight 1$/m.test(await (await fetch(metrics)).text()))
    gateway.child.kill('SIGTERM')
    await gateway.told(/^(SIGTERM: finishing)/m)
    gateway.child.kill('SIGTERM')
    expect((await gateway.ended()).code).toBe(143)
    await pending
  })
})

test('what the environment gives is in no output', async () => {
  const canary = 'canary-5ec2e7'
  const cwd = emptyFolder()
  const { port } = await listening(
    createServer((request, response) => {
      response.statusCode = 500
      response.end(String(request.headers.authorization))
    }),
  )
  const file = fileIn(
    cwd,
    'gateway.yaml',
    `admin: { port: 0 }
log: { level: debug }
upstreams:
  web: { url: "http://127.0.0.1:${port}/", auth: { bearer: "\${TOKEN}" } }
  child:
    command: [node, -e, "console.error(process.env.TOKEN, process.env.OTHER); setInterval(() => {}, 1000)"]
    env: { TOKEN: "\${TOKEN}" }
`,
  )
  const env = { TOKEN: canary, OTHER: `other-${canary}` }
  const gateway = new Program(['serve', '-c', file, '--port', '0'], { cwd, env })
  const url = await gateway.told(LISTENING)
  await gateway.told(/(stderr of a child)/)
  const admin = await gateway.told(ADMIN)
  const metrics = await (await fetch(new URL('/metrics', admin))).text()
  const upstreams = await (await fetch(new URL('/upstreams', admin))).text()
  const recalled = await run(['call', 'recall', '{}', '--url', url])
  gateway.child.kill('SIGTERM')
  const { stderr, stdout } = await gateway.ended()
  for (const text of [metrics, upstreams, recalled.stderr, recalled.stdout, stderr, stdout]) {
    expect(text).not.toContain(canary)
  }
  expect(stderr).toContain('[redacted] undefined')
})

async function listening(server: Server): Promise<{ server: Server; port: number }> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not on a port')
  return { server, port: address.port }
}

describe('the program itself', () => {
  test('a bad configuration ends with 2 and one line', async () => {
    const cwd = emptyFolder()
    const file = fileIn(cwd, 'gateway.yaml', 'tiers:\n  t: {}\n  t: {}')
    expect(await run(['check', '--config', file], { cwd })).toEqual({
      code: 2,
      stdout: '',
      stderr: 'a2m-gateway: gateway.yaml: tiers.t: stands here twice\n',
    })
  })

  test('an unknown option ends with 2', async () => {
    expect((await run(['serve', '--prot', '1'])).code).toBe(2)
  })

  test('its version ends with 0', async () => {
    expect(await run(['--version'])).toEqual({ code: 0, stdout: '0.1.0\n', stderr: '' })
  })
})
