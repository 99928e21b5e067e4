import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { loadConfig } from '../../../src/config/load.js'
import { createIdentity } from '../../../src/identity/identity.js'
import { systemClock } from '../../../src/protocol/time.js'
import { runHere } from '../../support/fake-terminal.js'

const load = (text: string) => loadConfig({ text, file: 'a.yaml', env: {}, cwd: '/srv' })

test('the entry that is printed lets the key in that is printed', async () => {
  const owner = 'no: "1" # \\ it’s *'
  const { stdout } = await runHere(['keys', 'new', '--name', 'null', '--owner', owner])
  const [key = ''] = stdout.split('\n')
  const entry = stdout.split('\n').find((line) => line.startsWith('    - '))
  const { auth } = load(`auth:\n  keys:\n${entry}\n`)
  expect(
    createIdentity(auth, { clock: systemClock }).authenticate({ authorization: [`Bearer ${key}`] }),
  ).toEqual({
    name: 'null',
    roles: ['agent'],
    scope: { kind: 'owners', owners: [owner] },
  })
})

test('as JSON, for programs', async () => {
  const args = ['keys', 'new', '--name', 'g', '--owner', '*', '--roles', 'gateway,agent', '--json']
  const { key, entry } = JSON.parse((await runHere(args)).stdout)
  const sha256 = createHash('sha256').update(key).digest('hex')
  expect(entry).toEqual({ name: 'g', owner: '*', sha256, roles: ['gateway', 'agent'] })
  expect(load(`auth: { keys: [${JSON.stringify(entry)}] }`).auth?.keys).toEqual([entry])
})

test('no two keys are alike, and none is in its own entry', async () => {
  const args = ['keys', 'new', '--name', 'a', '--owner', 'a']
  const [first, second] = await Promise.all([runHere(args), runHere(args)])
  const [key = ''] = first.stdout.split('\n')
  expect(key).toMatch(/^a2m_[\w-]{43}$/)
  expect(first.stdout.split(key)).toHaveLength(2)
  expect(second.stdout).not.toContain(key)
})

test('several owners and an end, as a span or an instant', async () => {
  const args = ['keys', 'new', '--name', 'a', '--owner', 'ann,bob', '--expires']
  const before = Date.now()
  const { stdout } = await runHere([...args, '90d'])
  const entry = stdout.split('\n').find((line) => line.startsWith('    - '))
  const [key] = load(`auth:\n  keys:\n${entry}\n`).auth?.keys ?? []
  expect(key?.owner).toEqual(['ann', 'bob'])
  expect(key?.expires).toBeGreaterThanOrEqual(before + 90 * 86_400_000)
  expect(key?.expires).toBeLessThan(Date.now() + 90 * 86_400_000 + 1)
  const told = await runHere([...args, '2999-01-31T00:00:00+01:00', '--json'])
  expect(JSON.parse(told.stdout).entry.expires).toBe('2999-01-30T23:00:00.000Z')
})

test('an end at the beginning of a day', async () => {
  const args = ['keys', 'new', '--name', 'a', '--owner', 'a', '--expires', '2999-01-31', '--json']
  const { entry } = JSON.parse((await runHere(args)).stdout)
  expect(entry.expires).toBe('2999-01-31T00:00:00.000Z')
})

test.each<[string, string[], string[]]>([
  ['ann', [], ['agent']],
  ['*', [], []],
  ['ann', ['--no-roles'], []],
  ['*', ['--roles', 'admin'], ['admin']],
])('the roles of a key for %s with %j', async (owner, options, roles) => {
  const args = ['keys', 'new', '--name', 'a', '--owner', owner, ...options]
  const [told, json] = [await runHere(args), await runHere([...args, '--json'])]
  expect(JSON.parse(json.stdout).entry.roles).toEqual(roles)
  expect(told.stdout).toContain(`roles: ${JSON.stringify(roles)} }`)
})

test.each([
  ['--expires', '2999-02-30', 'a day such as 2027-01-31'],
  ['--expires', '2001-01-01', 'in the past'],
  ['--owner', 'ann,*', '"*" is every owner, and stands alone'],
  ['--owner', 'ann,ann', 'stands twice'],
  ['--expires', '2001-01-01T00:00:00Z', 'in the past'],
  ['--expires', 'soon', 'a duration such as 90d'],
  ['--expires', '0d', 'a duration such as 90d'],
])('%s %s is refused', async (option, value, problem) => {
  const { code, stderr } = await runHere([
    'keys',
    'new',
    '--name',
    'a',
    '--owner',
    'a',
    option,
    value,
  ])
  expect(code).toBe(2)
  expect(stderr).toContain(problem)
})
