import { createHash, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createFindHolder } from '../../../src/identity/certificates.js'
import { createIdentity, stdioCaller } from '../../../src/identity/identity.js'
import { digestHex, newKey } from '../../../src/identity/keys.js'
import type { Access } from '../../../src/protocol/access.js'

const clock = { now: () => 0 }
const agent = newKey(randomBytes)
const service = newKey(randomBytes)
const identity = createIdentity(
  {
    keys: [
      { name: 'agent', owner: 'alice', sha256: agent.sha256, roles: ['agent'] },
      { name: 'service', owner: '*', sha256: service.sha256.toUpperCase(), roles: ['gateway'] },
    ],
  },
  { clock },
)

test('a new key is 256 bits in base64url behind its prefix, and its hash is of all of it', () => {
  const { key, sha256 } = newKey(() => new Uint8Array(32).fill(255))
  expect(key).toBe(`a2m_${'_'.repeat(42)}8`)
  expect(sha256).toBe(createHash('sha256').update(key).digest('hex'))
  expect(digestHex(key)).toBe(sha256)
  expect(newKey(randomBytes).key).not.toBe(newKey(randomBytes).key)
})

test('a key of one owner acts for that owner', () => {
  expect(identity.authenticate({ authorization: [`Bearer ${agent.key}`] })).toEqual({
    name: 'agent',
    roles: ['agent'],
    scope: { kind: 'owners', owners: ['alice'] },
  })
})

test('a key of "*" acts for every owner, its hash in either case', () => {
  expect(identity.authenticate({ authorization: [`bearer   ${service.key}`] })).toEqual({
    name: 'service',
    roles: ['gateway'],
    scope: { kind: 'all' },
  })
})

test.each([
  ['no header', []],
  ['an empty one', ['']],
  ['a scheme alone', ['Bearer']],
  ['no scheme', [agent.key]],
  ['another scheme', [`Basic ${agent.key}`]],
  ['the hash', [`Bearer ${agent.sha256}`]],
  ['a key cut short', [`Bearer ${agent.key.slice(0, -1)}`]],
  ['a key made longer', [`Bearer ${agent.key}A`]],
  ['a key in upper case', [`Bearer ${agent.key.toUpperCase()}`]],
  ['two words', [`Bearer ${agent.key} ${agent.key}`]],
  ['two keys in one header', [`Bearer ${agent.key}, Bearer ${service.key}`]],
  ['the same header twice', [`Bearer ${agent.key}`, `Bearer ${agent.key}`]],
  ['two headers', [`Bearer ${agent.key}`, `Bearer ${service.key}`]],
  ['a very long key', [`Bearer ${'x'.repeat(1_000_000)}`]],
])('%s is nobody', (_, headers) => {
  expect(identity.authenticate({ authorization: headers })).toBeUndefined()
})

test('no text that is not a key makes a caller', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(identity.authenticate({ authorization: [text] })).toBeUndefined()
      expect(identity.authenticate({ authorization: [`Bearer ${text}`] })).toBeUndefined()
    }),
  )
})

test('where keys are configured but none is, nobody gets in', () => {
  expect(
    createIdentity({ keys: [] }, { clock }).authenticate({ authorization: [] }),
  ).toBeUndefined()
  expect(
    createIdentity({ keys: [] }, { clock }).authenticate({ authorization: ['Bearer x'] }),
  ).toBeUndefined()
})

test('without credentials configured everyone is the anonymous caller of ownerless records', () => {
  const open = createIdentity(undefined, { clock })
  for (const headers of [[], ['Bearer x'], ['a', 'b']]) {
    expect(open.authenticate({ authorization: headers })).toEqual({
      name: 'anonymous',
      roles: [],
      scope: { kind: 'ownerless' },
    })
  }
})

test('a caller on stdio may name any owner, and has no role that it was not given', () => {
  expect(stdioCaller([])).toEqual({ name: 'stdio', roles: [], scope: { kind: 'all' } })
  expect(stdioCaller(['gateway']).roles).toEqual(['gateway'])
})

test('a hash that is none, or that two keys share, is refused by the name of the key', () => {
  const entry = { name: 'a', owner: 'x', roles: [] }
  expect(() => createIdentity({ keys: [{ ...entry, sha256: 'abc' }] }, { clock })).toThrow(
    /key a: sha256/,
  )
  const twice = [
    { ...entry, sha256: agent.sha256 },
    { ...entry, name: 'b', sha256: agent.sha256.toUpperCase() },
  ]
  expect(() => createIdentity({ keys: twice }, { clock })).toThrow(/keys a and b/)
})

test('several keys of one name are one caller, each until it ends', () => {
  const at = { now: () => now }
  let now = 100
  const [first, second] = [newKey(randomBytes), newKey(randomBytes)]
  const entry = { name: 'a', owner: ['x', 'y'], roles: ['agent'] }
  const changing = createIdentity(
    {
      keys: [
        { ...entry, sha256: first.sha256, expires: 200 },
        { ...entry, sha256: second.sha256 },
      ],
    },
    { clock: at },
  )
  const who = (key: string) => changing.authenticate({ authorization: [`Bearer ${key}`] })
  const caller = { name: 'a', roles: ['agent'], scope: { kind: 'owners', owners: ['x', 'y'] } }
  expect([who(first.key), who(second.key)]).toEqual([caller, caller])
  now = 199.9
  expect(who(first.key)).toEqual(caller)
  now = 200
  expect(who(first.key)).toBeUndefined()
  expect(who(second.key)).toEqual(caller)
})

test('what roles grant is worked out once for each key, before anyone calls', () => {
  const asked: (readonly string[])[] = []
  const access: Access = []
  const identity = createIdentity(
    { keys: [{ name: 'a', owner: 'a', sha256: agent.sha256, roles: ['reader'] }] },
    {
      clock,
      accessOf: (roles) => {
        asked.push(roles)
        return access
      },
    },
  )
  for (let call = 0; call < 3; call++) {
    const caller = identity.authenticate({ authorization: [`Bearer ${agent.key}`] })
    expect(caller).toMatchObject({ access })
  }
  expect(asked).toEqual([['reader']])
})

test('with a bearer credential a certificate says nothing, and without one it does', () => {
  const certificate = {
    names: { san_uri: ['ann'], san_dns: [], san_email: [], common_name: [] },
    from: 0,
    until: 10,
    commonNames: { subject: undefined, issuer: undefined },
  }
  const findHolder = createFindHolder(
    { owner: 'san_uri', strip: '', roles: [] },
    { accessOf: () => undefined, refused: () => {} },
  )
  const both = createIdentity(
    { keys: [{ name: 'agent', owner: 'alice', sha256: agent.sha256, roles: [] }] },
    { clock, findHolder },
  )
  const who = (authorization: readonly string[]) =>
    both.authenticate({ authorization, certificate })
  expect(who([])).toMatchObject({ name: 'ann' })
  expect(who([`Bearer ${agent.key}`])).toMatchObject({ name: 'agent' })
  expect(who(['Bearer nonsense'])).toBeUndefined()
  expect(who([''])).toBeUndefined()
  expect(identity.authenticate({ authorization: [], certificate })).toBeUndefined()
})
