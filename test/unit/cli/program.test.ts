import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { runHere } from '../../support/fake-terminal.js'

describe('help', () => {
  test.each(['', 'serve', 'stdio', 'check', 'store', 'call', 'keys new'])(
    'of "%s" has examples',
    async (command) => {
      const words = command.split(' ').filter((word) => word !== '')
      const { code, stdout, stderr } = await runHere([...words, '--help'])
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toContain(`Usage: ${['a2m-gateway', ...words].join(' ')}`)
      expect(stdout).toContain('  $ ')
    },
  )

  test('says every command', async () => {
    const { stdout } = await runHere(['help'])
    for (const command of ['serve', 'stdio', 'check', 'store', 'call', 'keys']) {
      expect(stdout).toMatch(new RegExp(`^  ${command} `, 'm'))
    }
  })

  test('of a time gives its default in the unit of the option', async () => {
    const { stdout } = await runHere(['call', '--help'])
    expect(stdout).toMatch(/--timeout <seconds> +how long to wait \(default: 30\)/)
  })

  test('the version is the package’s', async () => {
    expect(await runHere(['--version'])).toEqual({ code: 0, stdout: '0.1.0\n', stderr: '' })
  })
})

describe('a wrong command line ends with 2 and one message', () => {
  test.each<[readonly string[], string]>([
    [['sreve'], "error: unknown command 'sreve'"],
    [['serve', '--prot', '1'], "error: unknown option '--prot'"],
    [['serve', '--port', '70000'], 'A port is a number from 0 to 65535.'],
    [['serve', '--port', '80a'], 'A port is a number from 0 to 65535.'],
    [['store'], "error: required option '--path <file>' not specified"],
    [['store', '--path', 'x'], 'a store is served in one way: give --http PORT or --stdio'],
    [
      ['store', '--path', 'x', '--http', '0', '--stdio'],
      'a store is served in one way: give --http PORT or --stdio',
    ],
    [
      ['store', '--path', 'x', '--http', '0', '--host', '0.0.0.0'],
      '0.0.0.0 is reached from other machines; give --token-sha256 with it',
    ],
    [
      ['store', '--path', 'x', '--stdio', '--tiers', 'a,,b'],
      'Names are separated by single commas.',
    ],
    [['store', '--path', 'x', '--stdio', '--tiers', 'a,a'], 'A name stands twice.'],
    [['store', '--path', 'x', '--stdio', '--token-sha256', 'ab'], '64 hexadecimal digits'],
    [['keys', 'new', '--name', '', '--owner', 'a'], 'It must not be empty.'],
    [['keys', 'new', '--name', 'a', '--owner', ''], 'It must not be empty.'],
    [['call', 'recal'], 'no method recal in A2M; there are memory/describe, '],
    [['call', 'recall', '[1]'], 'the params must be a JSON object'],
    [['call', 'recall', '{'], 'the params are not JSON'],
    [['call', 'recall', '--url', 'ftp://h/'], 'the URL must begin with http:// or https://'],
    [['call', 'recall', '--url', 'http://u:hush@h/'], 'must not carry a user or password'],
    [['call', 'recall', '--timeout', '0'], 'A time is a number of seconds, at most 86400.'],
    [['keys', 'new', '--name', 'a'], "error: required option '--owner <owner>' not specified"],
  ])('%j', async (args, message) => {
    const { code, stdout, stderr } = await runHere(args)
    expect(stderr).toContain(message)
    expect(stderr).not.toMatch(/^ +at /m)
    expect(stderr).not.toContain('hush')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  })
})

test('a store that is only read must be there', async () => {
  const args = ['store', '--path', 'missing.db', '--http', '0', '--read-only']
  expect(await runHere(args, { cwd: '/nowhere' })).toEqual({
    code: 1,
    stdout: '',
    stderr: 'a2m-gateway: /nowhere/missing.db does not exist, and --read-only makes no file\n',
  })
})

describe('a bad configuration ends with 2 and one line', () => {
  const cwd = mkdtempSync(join(tmpdir(), 'a2m-'))
  afterAll(() => rmSync(cwd, { recursive: true }))
  const file = join(cwd, 'gateway.yaml')

  test.each(['serve', 'check', 'stdio'])('%s', async (command) => {
    writeFileSync(file, 'lisen: {}')
    expect(await runHere([command, '--config', file], { cwd })).toEqual({
      code: 2,
      stdout: '',
      stderr: `a2m-gateway: ${file}: lisen: unknown key; did you mean listen?\n`,
    })
  })

  test('the environment is the one that was given', async () => {
    writeFileSync(file, `listen: { path: "$${'{WHERE}'}" }`)
    const { stderr } = await runHere(['serve', '-c', file], { cwd, env: { WHERE: 'somewhere' } })
    expect(stderr).toBe(`a2m-gateway: ${file}: listen.path: must be a path such as / or /a2m\n`)
  })

  test('a file that is not there, a folder', async () => {
    const missing = join(cwd, 'no.yaml')
    expect((await runHere(['serve', '-c', missing])).stderr).toBe(
      `a2m-gateway: ${missing}: there is no such file\n`,
    )
    expect((await runHere(['serve', '-c', cwd])).stderr).toBe(
      `a2m-gateway: ${cwd}: is a folder, not a file\n`,
    )
  })

  test('an address on the command line is held to the same rules', async () => {
    const { code, stderr } = await runHere(['serve', '--host', '0.0.0.0'])
    expect(code).toBe(2)
    expect(stderr).toMatch(/^a2m-gateway: listen\.host: 0\.0\.0\.0 is reached from other machines/)
  })
})
