import { pino } from 'pino'
import { expect, test } from 'vitest'
import { quotaProblems, warnOfStrangers } from '../../../src/app/quota-problems.js'
import { loadConfig } from '../../../src/config/load.js'

const KEYS = [
  { name: 'agent-a', owner: 'ann', sha256: 'a'.repeat(64), roles: ['agent'] },
  { name: 'desk', owner: ['ann', 'bob'], sha256: 'b'.repeat(64), roles: ['agent'] },
]

function problemsOf(limit: object, config: object = { auth: { keys: KEYS } }) {
  return quotaProblems(limiting(limit, config))
}

function limiting(limit: object, config: object = { auth: { keys: KEYS } }) {
  const calls = { of: 'calls', per: 'caller', window: 'day', limit: 1, ...limit }
  const text = JSON.stringify({ ...config, quotas: { limits: { calls } } })
  return loadConfig({ text, file: 'a.yaml', env: {}, cwd: '/srv' })
}

const said = (place: string, part: string, name: string, hint: string) =>
  `quotas.limits.calls.${place}: no caller has the ${part} ${name}, so that nobody is limited by it; ${hint}`

test('who is there may be limited', () => {
  const limit = { callers: ['desk', 'stdio'], owners: ['bob'], roles: ['agent'] }
  expect(problemsOf(limit)).toEqual([])
  expect(quotaProblems(loadConfig({ text: '', file: 'a.yaml', env: {}, cwd: '/srv' }))).toEqual([])
})

test('whom no key can be is told, each name once', () => {
  expect(
    problemsOf({ callers: ['desk', 'agent-b'], owners: ['carol'], roles: ['agents'] }),
  ).toEqual([
    said('callers[1]', 'name', 'agent-b', 'did you mean agent-a?'),
    said('owners[0]', 'owner', 'carol', 'there are ann, bob'),
    said('roles[0]', 'role', 'agents', 'did you mean agent?'),
  ])
})

test('who may act for every owner may bring any', () => {
  const root = { ...KEYS[0], owner: '*' }
  expect(problemsOf({ owners: ['carol'] }, { auth: { keys: [root] } })).toEqual([])
})

test('tokens and certificates may bring anybody', () => {
  const issuer = { issuer: 'https://id.example', audience: 'a2m', jwks_file: 'keys.json' }
  const jwt = [{ ...issuer, algorithms: ['ES256'] }]
  const limit = { callers: ['agent-b'], owners: ['carol'], roles: ['agents'] }
  expect(problemsOf(limit, { auth: { keys: KEYS, jwt } })).toEqual([])
  const listen = { tls: { cert: 'a.pem', key: 'a.key', ca: 'ca.pem' } }
  const mtls = { owner: 'common_name' }
  expect(problemsOf(limit, { listen, auth: { keys: KEYS, mtls } })).toEqual([])
})

test('where nobody is known, callers are anonymous or on stdio', () => {
  expect(problemsOf({ callers: ['anonymous', 'stdio'], owners: ['x'] }, {})).toEqual([])
  expect(problemsOf({ callers: ['agent-a'], roles: ['agent'] }, {})).toEqual([
    said('callers[0]', 'name', 'agent-a', 'there are anonymous, stdio'),
    said('roles[0]', 'role', 'agent', 'nobody has any'),
  ])
})

test('roles that are defined may be given to somebody later', () => {
  const roles = { agent: {}, later: {} }
  expect(problemsOf({ roles: ['later'] }, { auth: { keys: KEYS }, roles })).toEqual([])
})

test('a start warns of them all at once, and only where there are any', () => {
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) })
  warnOfStrangers(limiting({ callers: ['desk'] }), log)
  expect(lines).toEqual([])
  warnOfStrangers(limiting({ callers: ['desk', 'agent-b'], owners: ['carol'] }), log)
  expect(lines).toHaveLength(1)
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    msg: 'limits name somebody whom nobody can be',
    wrong: [
      said('callers[1]', 'name', 'agent-b', 'did you mean agent-a?'),
      said('owners[0]', 'owner', 'carol', 'there are ann, bob'),
    ],
  })
})
