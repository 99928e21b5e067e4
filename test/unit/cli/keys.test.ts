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
