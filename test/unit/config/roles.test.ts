import { expect, test } from 'vitest'
import { ConfigError } from '../../../src/config/errors.js'
import { loadConfig } from '../../../src/config/load.js'

const KEY = { name: 'ann', owner: 'ann', sha256: 'a'.repeat(64), roles: ['agent'] }
const PLACES = {
  upstreams: { a: { store: 'sqlite', path: 'a.db' }, b: { store: 'sqlite', path: 'b.db' } },
  tiers: { notes: { upstream: 'a' }, facts: { upstream: 'b' } },
}

const CALLS = { of: 'calls', per: 'caller', window: 'day', limit: 1 }
const OPEN = { auth: { keys: [{ ...KEY, roles: [] }] } }

function load(config: object) {
  const text = JSON.stringify({ ...OPEN, ...config })
  return loadConfig({ text, file: 'gateway.yaml', env: {}, cwd: '/' })
}

test('roles are labels where none is defined', () => {
  expect(load({ auth: { keys: [KEY] } }).roles).toBeUndefined()
})

test('each bounds what it names, and writes unless it says otherwise', () => {
  const { roles } = load({
    ...PLACES,
    roles: {
      agent: {},
      reader: { access: 'read', methods: ['recall', 'memory/timeline', 'session/list'] },
      worker: { tiers: ['notes'], upstreams: ['a'], key_prefixes: ['wf/1'] },
    },
  })
  const everything = {
    methods: undefined,
    tiers: undefined,
    upstreams: undefined,
    keyPrefixes: undefined,
  }
  expect([...(roles?.values() ?? [])]).toEqual([
    { ...everything, role: 'agent', access: 'write' },
    {
      ...everything,
      role: 'reader',
      access: 'read',
      methods: new Set(['memory/recall', 'memory/timeline', 'memory/session/list']),
    },
    {
      role: 'worker',
      access: 'write',
      methods: undefined,
      tiers: new Set(['notes']),
      upstreams: new Set(['a']),
      keyPrefixes: ['wf/1'],
    },
  ])
})

test('are in the order of the file, also where their names look like numbers', () => {
  const text = `auth: ${JSON.stringify(OPEN.auth)}\nroles:\n  z: {}\n  10: {}\n  2: {}\n`
  const { roles } = loadConfig({ text, file: 'gateway.yaml', env: {}, cwd: '/' })
  expect([...(roles?.keys() ?? [])]).toEqual(['z', '10', '2'])
})

test.each<[string, object, string]>([
  [
    'a method that is misspelt',
    { roles: { agent: { methods: ['recall', 'remembr'] } } },
    'roles.agent.methods[1]: there is no method remembr; did you mean remember?',
  ],
  [
    'a method by its full name that does not exist',
    { roles: { agent: { methods: ['memory/recal'] } } },
    'roles.agent.methods[0]: there is no method memory/recal; did you mean recall?',
  ],
  [
    'a tier that is misspelt',
    { ...PLACES, roles: { agent: { tiers: ['notes', 'fact'] } } },
    'roles.agent.tiers[1]: there is no tier called fact; did you mean facts?',
  ],
  [
    'a tier that resembles none',
    { ...PLACES, roles: { agent: { tiers: ['procedural'] } } },
    'roles.agent.tiers[0]: there is no tier called procedural; there are notes, facts',
  ],
  [
    'a tier that is none of those in any federation, each told once',
    {
      ...PLACES,
      federations: { more: PLACES },
      versions: { 'a2m/0.1': {}, 'a2m/0.2': { federation: 'more' } },
      roles: { agent: { tiers: ['procedural'] } },
    },
    'roles.agent.tiers[0]: there is no tier called procedural; there are notes, facts',
  ],
  [
    'an upstream that does not exist',
    { ...PLACES, roles: { agent: { upstreams: ['vault'] } } },
    'roles.agent.upstreams[0]: there is no upstream called vault; there are a, b',
  ],
  [
    'a role of a key that is not defined',
    { auth: { keys: [KEY] }, roles: { agents: {} } },
    'auth.keys[0].roles[0]: there is no role called agent; did you mean agents?',
  ],
  [
    'a limit for a role that is not defined',
    { quotas: { limits: { a: { ...CALLS, roles: ['gateway', 'agnt'] } } }, roles: { agent: {} } },
    'quotas.limits.a.roles[1]: there is no role called agnt; did you mean agent?',
  ],
  [
    'writing in a role that reads',
    { roles: { agent: { methods: ['recall', 'forget'], access: 'read' } } },
    'roles.agent.methods[1]: memory/forget writes, and the role has access: read',
  ],
  [
    'push without the log that is pushed',
    { roles: { agent: { methods: ['events/subscribe'] } } },
    'roles.agent.methods[0]: needs memory/events beside it: what is pushed is the log that it reads',
  ],
  [
    'a list of nothing',
    { roles: { agent: { tiers: [] } } },
    'roles.agent.tiers: must name at least one; leave it out for all tiers',
  ],
  [
    'one prefix that is no list',
    { roles: { agent: { key_prefixes: 'wf' } } },
    'roles.agent.key_prefixes: must be a list of keys',
  ],
  [
    'a setting that is misspelt',
    { roles: { agent: { tier: ['notes'] } } },
    'roles.agent.tier: unknown key; did you mean tiers?',
  ],
  [
    'another kind of access',
    { roles: { agent: { access: 'admin' } } },
    'roles.agent.access: must be read or write',
  ],
  [
    'a name that is none',
    { roles: { 'all of it': {} } },
    'roles."all of it": a name is made of letters, digits, - and _, 64 at most',
  ],
])('%s', (_, config, message) => {
  expect(() => load(config)).toThrow(ConfigError)
  expect(() => load(config)).toThrow(`gateway.yaml: ${message}`)
})

test('without auth they would bind nobody, which is refused', () => {
  const message = 'gateway.yaml: roles: bind nobody where nobody is known; add auth'
  expect(() => load({ auth: undefined, roles: { agent: {} } })).toThrow(message)
})

test('tiers that upstreams tell themselves cannot be checked before they do', () => {
  const { upstreams } = PLACES
  expect(load({ upstreams, roles: { agent: { tiers: ['whatever'] } } }).roles?.size).toBe(1)
})

test('the role of gateways need not be defined, and may be', () => {
  const keys = [{ ...KEY, roles: ['gateway'] }]
  expect(load({ auth: { keys }, roles: { agent: {} } }).roles?.has('gateway')).toBe(false)
  expect(load({ auth: { keys }, roles: { gateway: {} } }).roles?.has('gateway')).toBe(true)
})
