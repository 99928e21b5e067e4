import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { loadConfig } from '../../../src/config/load.js'

const load = (text: string) => loadConfig({ text, file: 'a.yaml', env: {}, cwd: '/srv' })
const auth = (yaml: string) => load(`auth: ${yaml}`).auth
const problem = (text: string): string => {
  try {
    load(text)
  } catch (thrown) {
    return String(thrown).replace('ConfigError: a.yaml: ', '')
  }
  return 'none'
}
const sha = (digit: string): string => `"${digit.repeat(64)}"`
const key = (rest: string, digit = 'a') => `{ name: a, owner: a, sha256: ${sha(digit)}, ${rest} }`
const line = (name: string, digits: string): string =>
  JSON.stringify({
    name,
    owner: '*',
    sha256: digits.padStart(64, digits.length > 1 ? '0' : digits),
  })

/** A file that is gone with the test. */
function keysFile(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'a2m-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'keys.jsonl'), text)
  return join(folder, 'keys.jsonl')
}

const issuer = (rest: string) =>
  `{ keys: [${key('')}], jwt: [{ issuer: i, audience: a2m, jwks_uri: "https://id.example/j", algorithms: [EdDSA], ${rest} }] }`

test('a key may act for several owners, and end', () => {
  const keys = auth(
    `{ keys: [{ name: a, owner: [x, y], sha256: ${sha('a')}, expires: "2027-01-31T00:00:00Z" }] }`,
  )?.keys
  expect(keys).toEqual([
    {
      name: 'a',
      owner: ['x', 'y'],
      sha256: 'a'.repeat(64),
      roles: [],
      expires: Date.UTC(2027, 0, 31),
    },
  ])
})

test('several keys of one name agree on owners and roles, in whatever order', () => {
  const one = (digit: string, owner: string, roles: string) =>
    `{ name: a, owner: ${owner}, roles: ${roles}, sha256: ${sha(digit)} }`
  const two = (owner: string, roles: string) =>
    `auth: { keys: [${one('a', '[x, y]', '[r, s]')}, ${one('b', owner, roles)}] }`
  expect(load(two('[y, x]', '[s, r]')).auth?.keys).toHaveLength(2)
  expect(problem(two('[x]', '[r, s]'))).toBe(
    "auth.keys[1].owner: another key of a has other owners; keys of one name are one caller's and agree",
  )
  expect(problem(two('[x, y]', '[r]'))).toBe(
    "auth.keys[1].roles: another key of a has other roles; keys of one name are one caller's and agree",
  )
})

test.each([
  [key('owner: x'), 'auth.keys[0].owner: stands here twice'],
  [
    `{ name: a, owner: [], sha256: ${sha('a')} }`,
    'auth.keys[0].owner: must name at least one owner',
  ],
  [
    `{ name: a, owner: 7, sha256: ${sha('a')} }`,
    'auth.keys[0].owner: must be an owner, a list of owners, or "*" for every owner',
  ],
  [
    `{ name: a, owner: [x, "*"], sha256: ${sha('a')} }`,
    'auth.keys[0].owner: "*" is every owner, and stands alone',
  ],
  [`{ name: a, owner: [x, x], sha256: ${sha('a')} }`, 'auth.keys[0].owner: an owner stands twice'],
  [key('expires: soon'), 'auth.keys[0].expires: must be an instant such as "2027-01-31T00:00:00Z"'],
  [key('expires: 90d'), 'auth.keys[0].expires: must be an instant such as "2027-01-31T00:00:00Z"'],
])('keys: [%s]', (entry, message) => {
  expect(problem(`auth: { keys: [${entry}] }`)).toBe(message)
})

test('an issuer, with every default', () => {
  expect(auth(issuer(''))?.jwt).toEqual([
    {
      issuer: 'i',
      audience: ['a2m'],
      keys: { kind: 'uri', url: 'https://id.example/j' },
      algorithms: ['EdDSA'],
      ownerClaim: ['sub'],
      everyOwner: 'refused',
      nameClaim: ['sub'],
      rolesClaim: undefined,
      roles: [],
      prefix: '',
      cache: 600_000,
      stale: 3_600_000,
      cooldown: 30_000,
      timeout: 3000,
    },
  ])
  const [file] =
    auth('{ jwt: [{ issuer: i, audience: [a, b], jwks_file: k.json, algorithms: [ES256] }] }')
      ?.jwt ?? []
  expect(file).toMatchObject({ keys: { kind: 'file', path: '/srv/k.json' }, cache: 1000 })
  expect(file?.audience).toEqual(['a', 'b'])
})

const ASYMMETRIC =
  'is not one that only the issuer can sign with; use an asymmetric one such as EdDSA, ES256 or RS256'

test.each([
  ['algorithms: [HS256]', `auth.jwt[0].algorithms[0]: ${ASYMMETRIC}`],
  ['algorithms: [RS256, none]', `auth.jwt[0].algorithms[1]: ${ASYMMETRIC}`],
  ['algorithms: [None]', `auth.jwt[0].algorithms[0]: ${ASYMMETRIC}`],
  ['algorithms: [hs512]', `auth.jwt[0].algorithms[0]: ${ASYMMETRIC}`],
  ['algorithms: []', 'auth.jwt[0].algorithms: must hold at least one algorithm'],
  [
    'algorithms: [RS1]',
    'auth.jwt[0].algorithms[0]: must be EdDSA or Ed25519 or ES256 or ES384 or ES512 or PS256 or PS384 or PS512 or RS256 or RS384 or RS512',
  ],
  [
    'jwks_uri: "http://id.example/j"',
    'auth.jwt[0].jwks_uri: must be an https:// URL; http:// would let anyone on the way put keys of their own in, and is for this machine alone',
  ],
  ['jwks_uri: nonsense', 'auth.jwt[0].jwks_uri: must be an https:// URL'],
  [
    'jwks_uri: "https://me:secret@id.example/j"',
    'auth.jwt[0].jwks_uri: must not carry a user or password; a key set is public',
  ],
  [
    'jwks_file: k.json',
    "auth.jwt[0]: needs one of jwks_uri and jwks_file, and one only: where the issuer's public keys are",
  ],
  ['owner_clam: sub', 'auth.jwt[0].owner_clam: unknown key; did you mean owner_claim?'],
  ['every_owner: true', 'auth.jwt[0].every_owner: must be refused or allowed'],
])('jwt: %s', (rest, message) => {
  const name = rest.split(':')[0]
  const without = issuer(rest).replace(
    new RegExp(`(?<=algorithms: \\[EdDSA\\], .*|${name}: ("[^"]*"|\\[EdDSA\\]), )`),
    '',
  )
  const text =
    name === 'algorithms'
      ? without.replace('algorithms: [EdDSA], ', '')
      : without.replace(name === 'jwks_uri' ? 'jwks_uri: "https://id.example/j", ' : '\0', '')
  expect(problem(`auth: ${text}`)).toBe(message)
})

test('one issuer has one entry, and nobody can do without any way in', () => {
  const one = '{ issuer: i, audience: a, jwks_file: k, algorithms: [EdDSA] }'
  expect(problem(`auth: { jwt: [${one}, ${one}] }`)).toBe('auth.jwt[1].issuer: i stands here twice')
  expect(problem('auth: { jwt: [] }')).toBe('auth.jwt: must hold at least one issuer')
  expect(problem('auth: { leeway: 5m }')).toBe('auth: lets nobody in; it needs keys, jwt or mtls')
  expect(problem(`auth: { keys: [${key('')}], leeway: 10m }`)).toBe(
    'auth.leeway: must be at most 5m',
  )
})

test('certificates of callers need authorities that vouch for them', () => {
  const text = (tls: string, mtls: string) =>
    `listen: { ${tls} }\nauth: { keys: [${key('')}]${mtls} }`
  const tls = 'tls: { cert: c.pem, key: /k.pem, ca: ca.pem, min_version: "1.3" }'
  const { listen, auth: known } = load(text(tls, ', mtls: { owner: san_uri }'))
  expect(listen.tls).toEqual({
    cert: '/srv/c.pem',
    key: '/k.pem',
    ca: '/srv/ca.pem',
    minVersion: 'TLSv1.3',
  })
  expect(known?.mtls).toEqual({ owner: 'san_uri', strip: '', roles: [] })
  const needs =
    'auth.mtls: needs listen.tls with a ca: the certificates that vouch for those of callers'
  expect(problem(text('', ', mtls: { owner: san_uri }'))).toBe(needs)
  expect(problem(text(tls.replace('ca: ca.pem, ', ''), ', mtls: { owner: san_uri }'))).toBe(needs)
  expect(problem(text(tls, ''))).toBe(
    'listen.tls.ca: is for the certificates of callers; add auth.mtls, or leave it out',
  )
})

test('keys in a file: one a line, after those of the configuration', () => {
  const path = keysFile('{"name":"b","owner":"*","sha256":"B"}'.replace('"B"', sha('B')))
  expect(auth(`{ keys: [${key('')}], keys_file: ${path} }`)).toMatchObject({
    keys: [{ name: 'a' }, { name: 'b', owner: '*', sha256: 'b'.repeat(64), roles: [] }],
    keysFile: { path, keys: 1 },
  })
  expect(auth(`{ keys_file: ${path} }`)?.keys).toHaveLength(1)
})

test.each([
  ['{', 'line 1: is not JSON; a line holds one key, as `keys new --json` prints it under entry'],
  [
    `${line('a', 'b')}\n\n`,
    'line 2: is not JSON; a line holds one key, as `keys new --json` prints it under entry',
  ],
  ['{"name":"a","owner":"a"}', 'line 1: sha256: must be text; put it in quotes'],
  [line('a', 'b').replace('name', 'nmae'), 'line 1: unknown key; did you mean name?'],
  [line('a', 'a'), 'line 1: sha256: this is also the key of a'],
  [
    `${line('b', 'b')}\n${line('b', 'c').replace('"*"', '"x"')}\n`,
    "line 2: owner: another key of b has other owners; keys of one name are one caller's and agree",
  ],
])('a file of keys that holds %j', (text, message) => {
  const path = keysFile(text)
  expect(problem(`auth: { keys: [${key('')}], keys_file: ${path} }`)).toBe(
    `auth.keys_file: ${path} ${message}`,
  )
})

test('a file of keys that is not there', () => {
  expect(problem('auth: { keys_file: keys.jsonl }')).toBe(
    'auth.keys_file: /srv/keys.jsonl cannot be read (ENOENT)',
  )
})

test('twenty thousand keys in a file are read at a rate that twenty keep', () => {
  const path = (count: number): string =>
    keysFile(
      Array.from({ length: count }, (_, index) => line(`a${index}`, index.toString(16))).join('\n'),
    )
  const cost = (count: number): number => {
    const file = path(count)
    const start = process.cpuUsage()
    expect(load(`auth: { keys_file: ${file} }`).auth?.keys).toHaveLength(count)
    const { user, system } = process.cpuUsage(start)
    return (user + system) / 1000
  }
  cost(1000)
  expect(cost(20_000)).toBeLessThan(1500)
})

test.each([
  [`keys: [${key('')}]`, 'the key a'],
  ['jwt: [{ issuer: i, audience: a, jwks_file: k, algorithms: [EdDSA] }]', 'a token of auth.jwt'],
])('a store that keeps nobody apart cannot be written to by who is confined: %s', (rest, who) => {
  expect(
    problem(`auth: { ${rest} }\nupstreams: { s: { store: sqlite, path: s.db, owner: none } }`),
  ).toBe(
    `upstreams.s.owner: none keeps nobody's records apart, and ${who} is confined to its own; add access: read-only`,
  )
})
