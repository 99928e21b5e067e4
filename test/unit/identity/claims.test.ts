import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type ClaimRules, personOf } from '../../../src/identity/claims.js'

const RULES: ClaimRules = {
  ownerClaim: ['sub'],
  everyOwner: 'refused',
  nameClaim: ['sub'],
  rolesClaim: undefined,
  roles: ['agent'],
  prefix: '',
}

test('the owner and the name are the subject, the roles those that are fixed', () => {
  expect(personOf({ sub: 'ann', roles: ['root'] }, RULES)).toEqual({
    name: 'ann',
    owner: ['ann'],
    roles: ['agent'],
  })
})

test('claims may stand inside others, and lists are several owners', () => {
  const rules = {
    ...RULES,
    ownerClaim: ['https://acme.example/memory', 'owners'],
    rolesClaim: ['realm_access', 'roles'],
    prefix: 'acme/',
  }
  const claims = {
    sub: 'ann',
    'https://acme.example/memory': { owners: ['team', 'ann', 'team'] },
    realm_access: { roles: ['agent', 'writer'] },
  }
  expect(personOf(claims, rules)).toEqual({
    name: 'acme/ann',
    owner: ['acme/team', 'acme/ann'],
    roles: ['agent', 'writer'],
  })
})

test('roles may be words in one text, as in `scope`; whatever else they are is none', () => {
  const rules = { ...RULES, rolesClaim: ['scope'] }
  const roles = (scope: unknown) => personOf({ sub: 'a', scope }, rules)?.roles
  expect(roles('read  write')).toEqual(['agent', 'read', 'write'])
  for (const scope of [undefined, null, 1, { a: 1 }, ['read', 1]])
    expect(roles(scope)).toEqual(['agent'])
})

test('no claim makes a gateway; the configuration does', () => {
  const rules = { ...RULES, rolesClaim: ['roles'] }
  expect(personOf({ sub: 'a', roles: ['gateway', 'x'] }, rules)?.roles).toEqual(['agent', 'x'])
  expect(personOf({ sub: 'a' }, { ...rules, roles: ['gateway'] })?.roles).toEqual(['gateway'])
})

test('"*" is every owner only where the configuration lets it be, and never among others', () => {
  const allowed = { ...RULES, ownerClaim: ['owner'], everyOwner: 'allowed', prefix: 'p/' } as const
  const owner = (claim: unknown, rules: ClaimRules = allowed) =>
    personOf({ sub: 'a', owner: claim }, rules)?.owner
  expect(owner('*')).toBe('*')
  expect(owner('*', { ...allowed, everyOwner: 'refused' })).toBeUndefined()
  expect(owner(['*'])).toBeUndefined()
  expect(owner(['a', '*'])).toBeUndefined()
})

test.each([
  ['no subject', {}],
  ['an empty one', { sub: '' }],
  ['a number', { sub: 1 }],
  ['an empty list', { sub: [] }],
  ['a list with an empty text', { sub: ['a', ''] }],
  ['a list with something else', { sub: ['a', 1] }],
  ['null', { sub: null }],
])('%s is nobody', (_, claims) => {
  expect(personOf(claims, RULES)).toBeUndefined()
})

test('what every object inherits is no claim', () => {
  const names = ['__proto__', 'constructor', 'toString']
  for (const name of names) {
    expect(personOf({}, { ...RULES, ownerClaim: [name, 'name'] })).toBeUndefined()
  }
})

test('whatever claims hold, an owner is a text of them with the prefix before it', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (sub) => {
      const person = personOf({ sub, n: 'x' }, { ...RULES, nameClaim: ['n'], prefix: 'p/' })
      if (person === undefined) return
      expect([person.owner].flat().every((owner) => owner.startsWith('p/'))).toBe(true)
      expect([sub].flat()).toEqual(
        expect.arrayContaining([person.owner].flat().map((o) => o.slice(2))),
      )
    }),
  )
})
