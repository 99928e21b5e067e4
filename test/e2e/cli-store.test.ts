import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { CAPABILITIES } from '../../src/protocol/methods.js'
import { emptyFolder, fileIn, LISTENING, MAIN, Program, run } from '../support/gateway-process.js'
import { meets } from '../support/meets.js'

const TOKEN = 'a2m_test'
const SHA256 = createHash('sha256').update(TOKEN).digest('hex')

interface Reply {
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly code: number }
}

async function call(url: string, method: string, params: unknown, token?: string): Promise<Reply> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: `memory/${method}`, params }),
  })
  if (response.status !== 200) return { error: { code: response.status } }
  return (await response.json()) as Reply
}

function store(args: readonly string[], cwd = emptyFolder()): Program {
  return new Program(['store', '--path', 'a.db', ...args], { cwd })
}

describe('over HTTP', () => {
  test(`without a token: no scopes, no extension, only what belongs to nobody ${meets('6/unauthenticated', '8.3/authenticated')}`, async () => {
    const url = await store(['--http', '0', '--tiers', 'semantic,skills']).told(LISTENING)
    const { result } = await call(url, 'describe', {})
    expect(result).toMatchObject({
      capabilities: CAPABILITIES.filter((capability) => capability !== 'scopes'),
      tiers: [
        { name: 'semantic', kind: 'semantic', count: 0 },
        { name: 'skills', count: 0 },
      ],
    })
    expect(result).not.toHaveProperty('a2m-gateway')
    await call(url, 'remember', { records: [{ content: 'mine', owner: 'a' }] })
    const recalled = await call(url, 'recall', { query: 'mine' })
    expect(recalled.result).toMatchObject({ records: [{ content: 'mine', tier: 'semantic' }] })
    expect(JSON.stringify(recalled.result)).not.toContain('owner')
  })

  test('it says which process it is; a folder that it makes is for its own user alone', async () => {
    const cwd = emptyFolder()
    const args = ['store', '--path', 'made/here/a.db', '--http', '0']
    const program = new Program(args, { cwd })
    expect(Number(await program.told(/^pid (\d+): SIGTERM stops$/m))).toBe(program.child.pid)
    const modes = ['made', 'made/here'].map((path) => statSync(join(cwd, path)).mode & 0o777)
    expect(modes).toEqual([0o700, 0o700])
  })

  test(`with a token: its holder alone, for every owner, and as a gateway ${meets('8.3/authenticated')}`, async () => {
    const program = store(['--http', '0', '--token-sha256', SHA256])
    const url = await program.told(LISTENING)
    expect(await call(url, 'describe', {})).toEqual({ error: { code: 401 } })
    expect(await call(url, 'describe', {}, `${TOKEN}x`)).toEqual({ error: { code: 401 } })
    const { result } = await call(url, 'describe', {}, TOKEN)
    expect(result?.['capabilities']).toEqual(CAPABILITIES)
    expect(result).toHaveProperty('a2m-gateway')
    for (const owner of ['a', 'b']) {
      await call(url, 'remember', { owner, records: [{ content: `it is ${owner}` }] }, TOKEN)
    }
    const recalled = await call(url, 'recall', { query: 'it', owner: 'b' }, TOKEN)
    expect(recalled.result).toMatchObject({ records: [{ content: 'it is b', owner: 'b' }] })
    program.child.kill('SIGTERM')
    expect((await program.ended()).code).toBe(0)
    expect(program.stderr).not.toContain(TOKEN)
  })

  test('read-only: every write is -32004, before anything else about it', async () => {
    const cwd = emptyFolder()
    const line =
      '{"jsonrpc":"2.0","id":1,"method":"memory/remember","params":{"records":[{"content":"kept"}]}}\n'
    await run(['store', '--path', 'a.db', '--stdio'], { cwd, input: line })
    const url = await store(['--http', '0', '--read-only'], cwd).told(LISTENING)
    for (const [method, params] of [
      ['remember', { records: 'no list' }],
      ['forget', {}],
      ['promote', {}],
    ] as const) {
      expect((await call(url, method, params)).error?.code).toBe(-32004)
    }
  })

  test('a file that is no store ends with 1 and one line that names it', async () => {
    const cwd = emptyFolder()
    fileIn(cwd, 'a.db', 'no database at all '.repeat(100))
    const { code, stderr } = await store(['--http', '0'], cwd).ended()
    expect(code).toBe(1)
    expect(stderr).toMatch(/^a2m-gateway: [^\n]*\n$/)
    expect(stderr).toContain(join(cwd, 'a.db'))
  })
})

describe('over stdio', () => {
  const DESCRIBE = '{"jsonrpc":"2.0","id":"x","method":"memory/describe"}\n'

  test.each([[['store', '--path', 'a.db', '--stdio']], [['stdio']]])(
    `%j: nothing but replies on stdout, and the end of the input is the end ${meets('8.2/stdout', '8.2/end')}`,
    async (args) => {
      const { code, stdout } = await run(args, { input: `${DESCRIBE}\n{"jsonrpc":"2.0"}\n` })
      const lines = stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
      expect(lines).toHaveLength(2)
      expect(lines).toContainEqual(
        expect.objectContaining({
          id: 'x',
          result: expect.objectContaining({
            capabilities: expect.arrayContaining(['core', 'tiers', 'scopes']),
          }),
        }),
      )
      expect(code).toBe(0)
    },
  )

  test('a signal ends it too', async () => {
    const program = store(['--stdio'])
    program.child.stdin.write(DESCRIBE)
    while (!program.stdout.includes('\n')) {
      await new Promise((resolve) => program.child.stdout.once('data', resolve))
    }
    program.child.kill('SIGTERM')
    expect((await program.ended()).code).toBe(0)
  })
})

describe('three stores behind a gateway, as the example has them', () => {
  async function threeStores(): Promise<{ cwd: string; file: string; vectors: Program }> {
    const cwd = emptyFolder()
    const transcripts = store(['--http', '0', '--tiers', 'working'])
    const vectors = store(['--http', '0', '--tiers', 'episodic'])
    const example = readFileSync(new URL('../../config/three-stores.yaml', import.meta.url), 'utf8')
    const text = example
      .replace('http://127.0.0.1:9001/', await transcripts.told(LISTENING))
      .replace('http://127.0.0.1:9002/', await vectors.told(LISTENING))
      .replace('dist/cli/main.js', MAIN)
      .replace('timeout: 1s', 'timeout: 10s')
    const file = fileIn(cwd, 'gateway.yaml', `${text}\nadmin: off\n`)
    return { cwd, file, vectors }
  }

  test('writes go by tier, recall asks all, and one that is gone is a gap', async () => {
    const { cwd, file, vectors } = await threeStores()
    const gateway = new Program(['serve', '-c', file, '--port', '0'], { cwd })
    const url = await gateway.told(LISTENING)
    for (const name of ['transcripts', 'vectors', 'facts']) {
      await gateway.told(new RegExp(`"upstream":"${name}","state":"(up)"`))
    }
    const records = ['working', 'episodic', 'procedural'].map((tier) => ({
      content: `the key of the ${tier} tier`,
      tier,
    }))
    expect((await call(url, 'remember', { records })).result?.['ids']).toHaveLength(3)
    const whole = await call(url, 'recall', { query: 'key' })
    expect(whole.result?.['records']).toHaveLength(3)
    expect(whole.result).toMatchObject({ federation: { partial: false } })
    vectors.child.kill('SIGKILL')
    await vectors.ended()
    const partial = await call(url, 'recall', { query: 'key' })
    expect(partial.result?.['records']).toHaveLength(2)
    expect(partial.result).toMatchObject({
      federation: { partial: true, upstreams: { facts: { state: 'ok' }, vectors: {} } },
    })
  })

  test('check is content with them, and not once one is gone', async () => {
    const { cwd, file, vectors } = await threeStores()
    const good = await run(['check', '-c', file], { cwd })
    expect(good).toMatchObject({ code: 0, stderr: '' })
    expect(good.stdout).toMatch(/^vectors +up +a2m\/0\.1 +yes +none +episodic$/m)
    expect(good.stdout).toMatch(/^procedural +procedural +facts$/m)
    vectors.child.kill('SIGKILL')
    await vectors.ended()
    const bad = await run(['check', '-c', file, '--json'], { cwd })
    expect(bad).toMatchObject({ code: 1, stderr: 'a2m-gateway: one thing is wrong\n' })
    expect(JSON.parse(bad.stdout)).toMatchObject({
      ok: false,
      problems: [expect.stringMatching(/^upstream vectors is unread: /)],
    })
  })
})

test('two upstreams that declare one tier end the start with 2, and check says so', async () => {
  const cwd = emptyFolder()
  const upstreams = 'a: { store: sqlite, path: a.db }, b: { store: sqlite, path: b.db }'
  const file = fileIn(cwd, 'gateway.yaml', `upstreams: { ${upstreams} }\nlog: { level: silent }\n`)
  const served = await run(['serve', '-c', file, '--port', '0'], { cwd })
  expect(served.code).toBe(2)
  expect(served.stderr).toMatch(
    /^a2m-gateway: tiers: tier "working" is declared by a and by b: .*\n$/,
  )
  const checked = await run(['check', '-c', file], { cwd })
  expect(checked.code).toBe(1)
  expect(checked.stdout).toMatch(/^wrong: tier "working" is declared by a and by b/m)
})
