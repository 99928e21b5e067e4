import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runHere } from '../../support/fake-terminal.js'
import { emptyFolder, fileIn } from '../../support/gateway-process.js'

const sha256 = (digit: string) => digit.repeat(64)
const CONFIG = {
  auth: {
    keys: [
      { name: 'reader', owner: 'ann', sha256: sha256('a'), roles: ['reads'] },
      { name: 'worker', owner: 'ann', sha256: sha256('b'), roles: ['reads', 'works'] },
      { name: 'root', owner: '*', sha256: sha256('c'), roles: ['all'] },
      { name: 'lost', owner: 'ann', sha256: sha256('d'), roles: ['gateway'] },
    ],
  },
  roles: {
    reads: { access: 'read', tiers: ['notes', 'facts'] },
    works: { tiers: ['notes'], key_prefixes: ['wf/1'], methods: ['remember', 'memory/forget'] },
    all: {},
  },
  upstreams: { a: { store: 'sqlite', path: 'a.db' }, b: { store: 'sqlite', path: 'b.db' } },
  tiers: { facts: { upstream: 'b' }, notes: { upstream: 'a' }, hidden: { upstream: 'b' } },
}

const OLD = '2001-01-01T00:00:00.000Z'
const OLDER = '2000-01-01T00:00:00.000Z'

/** The configuration with a key of `worker` for each end. */
function aged(...ends: readonly string[]) {
  const keys = ends.map((expires, index) => {
    const worker = { name: 'worker', owner: 'ann', roles: ['reads', 'works'] }
    return { ...worker, sha256: sha256(`${index}`), expires }
  })
  return { ...CONFIG, auth: { keys } }
}

function canBy(config: object, ...args: readonly string[]) {
  const cwd = emptyFolder()
  const file = join(cwd, fileIn(cwd, 'gateway.yaml', JSON.stringify(config)))
  return runHere(['can', '--config', file, ...args], { cwd })
}

const can = (...args: readonly string[]) => canBy(CONFIG, ...args)

const entry = (over: object = {}) => JSON.stringify({ records: [{ content: 'x', ...over }] })

describe('a decision', () => {
  test.each<[string, string, string, number | undefined]>([
    ['reader', 'recall', '{"query":"x"}', undefined],
    ['reader', 'memory/recall', '{"tier":"hidden"}', -32002],
    ['reader', 'recall', '{"tier":"nowhere"}', -32002],
    ['reader', 'remember', entry(), -32004],
    ['reader', 'describe', '{}', undefined],
    ['reader', 'timeline', '{"owner":"bob"}', -32005],
    ['worker', 'remember', entry(), undefined],
    ['worker', 'remember', entry({ tier: 'facts' }), -32005],
    ['worker', 'remember', entry({ tier: 'notes', key: 'wf/1/x' }), undefined],
    ['worker', 'remember', entry({ key: 'wf/10' }), -32005],
    ['worker', 'remember', entry({ tier: 'hidden' }), -32002],
    ['worker', 'forget', '{"key_prefix":"wf"}', -32005],
    ['worker', 'forget', '{"key_prefix":"wf/1"}', undefined],
    ['worker', 'promote', '{"ids":["a"],"tier":"notes"}', -32005],
    ['worker', 'consolidate', '{}', -32005],
    ['worker', 'fetch', '{"key":"user"}', undefined],
    ['root', 'remember', entry({ tier: 'hidden', key: 'user' }), undefined],
    ['root', 'timeline', '{"owner":"bob"}', undefined],
    ['lost', 'describe', '{}', undefined],
    ['lost', 'recall', '{}', -32005],
  ])('%s %s %s', async (name, method, params, code) => {
    const ended = await can(name, method, params, '--json')
    expect(JSON.parse(ended.stdout)).toMatchObject({ allowed: code === undefined })
    expect(JSON.parse(ended.stdout).code).toBe(code)
    expect(ended.code).toBe(code === undefined ? 0 : 1)
  })

  test('says which role allows it, and what each of the others lacks', async () => {
    const { stdout } = await can('worker', 'remember', entry({ tier: 'notes', key: 'wf/1' }))
    expect(stdout.split('\n')).toEqual([
      'yes: worker may call memory/remember by the role works',
      '  reads  it only reads',
      '  works  allows all of it',
      '',
    ])
  })

  test('says with which error the caller would be refused', async () => {
    const { stdout, stderr } = await can('worker', 'forget', '{"tier":"facts","key_prefix":"wf"}')
    expect(stdout.split('\n')).toEqual([
      'no: -32005 SCOPE_DENIED: key_prefix: your roles do not let you do that at tier "facts", key "wf"',
      '  reads  it only reads',
      '  works  it does not have the tier "facts", it does not have the key "wf"',
      '',
    ])
    expect(stderr).toBe('')
  })

  test('of who shows a token is about what its roles and owner are said to be', async () => {
    const args = ['ann@example', 'recall', '{"query":"x"}', '--owner', 'ann']
    expect(await can(...args, '--roles', 'reads')).toMatchObject({ code: 0 })
    const { code, stdout } = await can(...args, '--roles', 'writes')
    expect(code).toBe(1)
    expect(stdout).toContain('writes  it is not defined')
  })

  test('is yes to everything in its scope where no roles are defined', async () => {
    const { roles: _, ...labels } = CONFIG
    const { stdout, code } = await canBy(labels, 'lost', 'forget', '{"tier":"hidden"}')
    expect(code).toBe(0)
    expect(stdout).toBe(
      'yes: no roles are defined, so that lost may call whatever it likes for its owner\n',
    )
  })

  test('is no where all keys of the name have expired', async () => {
    const { code, stdout, stderr } = await canBy(aged(OLD, OLDER), 'worker', 'recall')
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: `no: expired at ${OLDER}, ${OLD}\n`,
      stderr: '',
    })
    const json = await canBy(aged(OLD), 'worker', 'recall', '--json')
    expect(JSON.parse(json.stdout)).toMatchObject({
      allowed: false,
      message: `expired at ${OLD}`,
    })
  })

  test('is yes where one of them is good, and says which are not', async () => {
    const { code, stdout } = await canBy(aged(OLD, '2999-01-01T00:00:00.000Z'), 'worker', 'recall')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^yes: /)
    expect(stdout).toContain(`\n1 of its 2 keys expired at ${OLD}\n`)
  })

  test('of an unknown name tells of callers with tokens where there may be some', async () => {
    const jwt = [{ issuer: 'https://id.example', audience: 'a', jwks_file: 'keys.json' }]
    const config = {
      ...CONFIG,
      auth: { ...CONFIG.auth, jwt: [{ ...jwt[0], algorithms: ['ES256'] }] },
    }
    const { code, stderr } = await canBy(config, 'nobody', 'recall')
    expect(code).toBe(2)
    expect(stderr).toContain('say with --roles and --owner what it would bring')
  })

  test('of tiers that upstreams tell is made without knowing them', async () => {
    const { tiers: _, ...untold } = CONFIG
    const ask = (tier: string) => canBy(untold, 'worker', 'remember', entry({ tier }))
    expect(await ask('notes')).toMatchObject({ code: 0 })
    expect(await ask('elsewhere')).toMatchObject({ code: 1 })
  })
})

test.each<[string[], string]>([
  [['reder', 'recall'], 'no key in auth.keys is called reder; did you mean reader?'],
  [['reader', 'recal'], 'no method recal in A2M; did you mean recall?'],
  [['reader', 'recall', '{'], 'these are no params of memory/recall:'],
  [['reader', 'remember', '{}'], 'these are no params of memory/remember: records'],
  [['reader', 'recall', '[]'], 'these are no params of memory/recall: params must be an object'],
  [['x', 'recall', '--roles', 'reads'], 'with --roles, say with --owner whose records it is about'],
  [['reader', 'recall', '{}', '--owner', 'ann'], '--owner is for the caller that --roles tells of'],
])('%j is answered with what is wrong', async (args, message) => {
  const { code, stderr, stdout } = await can(...args)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(message)
})

test('whatever is asked, it is answered with a yes, a no, or what is wrong', async () => {
  const anything = fc.oneof(fc.constantFrom('recall', 'remember', 'forget'), fc.string())
  await fc.assert(
    fc.asyncProperty(anything, fc.json(), async (method, params) => {
      const { code, stderr } = await can('worker', '--json', '--', method, params)
      expect([0, 1, 2]).toContain(code)
      expect(stderr).not.toMatch(/\n\s+at /)
    }),
    { numRuns: 40 },
  )
})
