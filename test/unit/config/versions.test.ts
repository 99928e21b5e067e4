import { describe, expect, test } from 'vitest'
import type { Config } from '../../../src/config/config.js'
import { loadConfig } from '../../../src/config/load.js'
import { qualified, servedViews, viewsOf } from '../../../src/config/views.js'

const load = (text: string): Config =>
  loadConfig({ text, file: 'a.yaml', env: { TOKEN: 'top-secret-token' }, cwd: '/srv' })
const SHA = 'a'.repeat(64)
const AUTH = `auth: { keys: [{ name: ops, owner: "*", sha256: "${SHA}" }] }`
const VERSION = { deprecated: undefined, sunset: undefined, link: undefined }

describe('versions', () => {
  test('without them, one is served by this federation', () => {
    const serves = { kind: 'federation', federation: 'default' }
    expect(load('').versions).toEqual([{ name: 'a2m/0.1', serves, ...VERSION }])
  })

  test('the first is the default, in the order of the file, whatever names look like', () => {
    const { versions } = load('versions: { beta: , "2": {}, "1": {}, a2m/0.1: {} }')
    expect(versions.map(({ name }) => name)).toEqual(['beta', '2', '1', 'a2m/0.1'])
  })

  test('the one that is marked comes first, the others as they are', () => {
    const { versions } = load('versions: { a2m/0.2: {}, a2m/0.1: { default: true }, a2m/0.3: {} }')
    expect(versions.map(({ name }) => name)).toEqual(['a2m/0.1', 'a2m/0.2', 'a2m/0.3'])
  })

  test('a server elsewhere has its own credential, and is for every owner unless it is shown tokens', () => {
    const url = 'https://next.internal/a2m'
    const { versions } = load(`${AUTH}
versions:
  a2m/0.1:
  a2m/0.2: { url: "${url}", auth: { bearer: "\${TOKEN}" } }
  a2m/0.3: { url: "${url}", owner: token, audience: next, connections: 3 }`)
    const audience = 'https://next.internal'
    const serves = { kind: 'upstream', url, owner: 'parameter', audience, connections: 64 }
    expect(versions.slice(1).map((version) => version.serves)).toEqual([
      { ...serves, bearer: 'top-secret-token' },
      { ...serves, bearer: undefined, owner: 'token', audience: 'next', connections: 3 },
    ])
  })

  test('dates are days that begin in UTC, or instants', () => {
    const { versions } = load(`versions:
  a2m/0.1: { deprecated: 2026-07-01, sunset: "2027-01-31T12:00:00+02:00", link: "https://x.example/a b" }`)
    expect(versions[0]).toMatchObject({
      deprecated: Date.UTC(2026, 6, 1),
      sunset: Date.UTC(2027, 0, 31, 10),
      link: 'https://x.example/a%20b',
    })
  })
})

describe('federations', () => {
  const config = load(`name: acme
data_dir: /var/a2m
upstreams: { facts: { store: sqlite, path: facts.db } }
federations:
  trial:
    upstreams: { facts: { store: sqlite, path: facts.db } }
    tiers: { "9": { upstream: facts }, "1": { upstream: facts } }
    recall: { limit: 3 }
    events: { keep: 5, tail: true }
  plain: {}
versions: { a2m/0.1: {}, a2m/0.2: { federation: trial }, a2m/0.3: { federation: plain } }`)

  test('each has all that the one at the top has, in a folder of its own', () => {
    const [trial, plain] = config.federations
    expect(trial).toMatchObject({ name: 'trial', dataDir: '/var/a2m/trial' })
    expect(trial?.federation.upstreams[0]?.connect).toMatchObject({
      path: '/var/a2m/trial/facts.db',
    })
    expect(trial?.federation.tiers.map(({ name }) => name)).toEqual(['9', '1'])
    expect(trial?.federation.recall).toMatchObject({ limit: 3, window: 20 })
    expect(trial?.events).toEqual({ keep: 5, maxAge: 604_800_000, tail: { interval: 5000 } })
    expect(config.federation.upstreams[0]?.connect).toMatchObject({ path: '/var/a2m/facts.db' })
    expect(plain?.federation.upstreams.map(({ name }) => name)).toEqual([
      'working',
      'knowledge',
      'procedural',
    ])
    expect(plain?.federation.tiers.map(({ name }) => name)[0]).toBe('working')
  })

  test('a view is the configuration as if one were alone', () => {
    const [own, trial] = viewsOf(config)
    expect(own).toEqual({ name: 'default', path: [], config })
    expect(trial).toMatchObject({ name: 'trial', path: ['federations', 'trial'] })
    expect(trial?.config).toMatchObject({
      name: 'acme/trial',
      dataDir: '/var/a2m/trial',
      federation: config.federations[0]?.federation,
      federations: [],
      limits: config.limits,
    })
  })

  test('only those that serve a version are opened; one at the top that is not stated need not', () => {
    const names = (text: string) => servedViews(load(text)).map(({ name }) => name)
    expect(names('')).toEqual(['default'])
    expect(names('versions: { a: , b: }')).toEqual(['default'])
    expect(names('federations: { trial: {} }\nversions: { a: { federation: trial } }')).toEqual([
      'trial',
    ])
  })

  test('upstreams are told apart by the federation they are in', () => {
    expect(qualified('default', 'facts')).toBe('facts')
    expect(qualified('trial', 'facts')).toBe('trial/facts')
  })
})

const web = 'upstreams: { a: { url: "http://127.0.0.1:1/" } }'

test.each([
  ['no version', 'versions: {}', 'versions: must name at least one, or be left out'],
  [
    'a name that no header can carry',
    'versions: { "a2m 0.1": {} }',
    'versions."a2m 0.1": a version is named as its header names it, such as a2m/0.1: letters, digits and signs, 64 at most',
  ],
  [
    'the name that metrics have for the rest',
    'versions: { other: {} }',
    'versions.other: is what metrics call versions that are not spoken; choose another',
  ],
  [
    'two defaults',
    'versions: { a: { default: true }, b: { default: true } }',
    'versions.b.default: a is the default already: only one version serves requests that name none',
  ],
  [
    'a federation that is not there',
    'federations: { trial: {} }\nversions: { a: { federation: trail } }',
    'versions.a.federation: there is no federation called trail; did you mean trial?',
  ],
  [
    'two ways to be served',
    `${AUTH}\nversions: { a: { federation: default, url: "http://127.0.0.1:1/" } }`,
    'versions.a: needs one of federation and url, and one only',
  ],
  [
    'a credential for nobody',
    'versions: { a: { auth: { bearer: x } } }',
    'versions.a.auth: goes with url, not with federation',
  ],
  [
    'an audience of nothing',
    `${AUTH}\nversions: { a: { url: "http://127.0.0.1:1/", audience: x } }`,
    'versions.a.audience: is whom tokens are for; it goes with owner: token',
  ],
  [
    'a server elsewhere and no callers who are known',
    'versions: { a: { url: "http://127.0.0.1:1/" } }',
    'versions.a.url: nobody would be let through to it: only callers who may act for every owner are, and without auth there are none',
  ],
  [
    'a misspelt key',
    'versions: { a: { sunsett: 2027-01-01 } }',
    'versions.a.sunsett: unknown key; did you mean sunset?',
  ],
  [
    'a day that no month has',
    'versions: { a: { sunset: 2027-02-30 } }',
    'versions.a.sunset: must be a date such as 2027-01-31, or an instant such as 2027-01-31T12:00:00Z',
  ],
  [
    'a number of seconds',
    'versions: { a: { sunset: 1800000000 } }',
    'versions.a.sunset: must be a date such as 2027-01-31; put it in quotes',
  ],
  [
    'gone before it is deprecated',
    'versions: { a: { deprecated: 2027-02-01, sunset: 2027-01-31 } }',
    'versions.a.sunset: is before deprecated',
  ],
  [
    'a link about nothing',
    'versions: { a: { link: "https://x.example/" } }',
    'versions.a.link: says more about deprecated or sunset; set one of them',
  ],
  [
    'a federation that no version reaches',
    'federations: { trial: {} }',
    'federations.trial: no version is served by it, so nobody could reach it; name it under versions, or take it out',
  ],
  [
    'upstreams that no version reaches',
    `${web}\nfederations: { trial: {} }\nversions: { a: { federation: trial } }`,
    'upstreams: no version is served by them, so nobody could reach them; write federation: default for one under versions, or take them out',
  ],
  [
    'a federation with the name of the one at the top',
    'federations: { default: {} }',
    'federations.default: is the one at the top of the file; choose another name',
  ],
  [
    'a federation with the name of a folder that is taken',
    'federations: { usage: {} }',
    "federations.usage: is a folder of the gateway's own in data_dir; choose another name",
  ],
  [
    'a federation whose name is a path',
    'federations: { ../x: {} }',
    'federations."../x": a name is made of letters, digits, - and _, 64 at most',
  ],
  [
    'a tier in a federation with no such upstream',
    'federations: { trial: { upstreams: { a: { url: "http://127.0.0.1:1/" } }, tiers: { t: { upstream: b } } } }',
    'federations.trial.tiers.t.upstream: there is no upstream called b; there are a',
  ],
  [
    'a store in a federation that has no file',
    'federations: { trial: { upstreams: { a: { store: sqlite } } } }',
    'federations.trial.upstreams.a.path: is missing; name the file of the store',
  ],
  [
    'one file for stores of two federations',
    `upstreams: { a: { store: sqlite, path: trial/a.db } }
federations: { trial: { upstreams: { b: { store: sqlite, path: a.db } } } }`,
    'federations.trial.upstreams.b.path: is already the file of a',
  ],
  [
    "another federation's own file",
    'upstreams: { a: { store: sqlite, path: trial/gateway.db } }\nfederations: { trial: {} }',
    "upstreams.a.path: gateway.db in data_dir is the gateway's own file; name another",
  ],
  [
    "a file of the whole gateway's as the store of a federation",
    'upstreams: { a: { store: sqlite, path: a.db } }\nfederations: { trial: { upstreams: { b: { store: sqlite, path: ../signing-keys.json } } } }',
    "federations.trial.upstreams.b.path: signing-keys.json in data_dir is the gateway's own file; name another",
  ],
  [
    'the audit log as the store of a federation',
    'audit: { path: trial/b.db }\nupstreams: { a: { store: sqlite, path: a.db } }\nfederations: { trial: { upstreams: { b: { store: sqlite, path: b.db } } } }',
    'audit.path: is already the file of trial/b',
  ],
  [
    'a misspelt key in a federation',
    'federations: { trial: { tires: {} } }',
    'federations.trial.tires: unknown key; did you mean tiers?',
  ],
])('%s', (_, text, message) => {
  expect(() => load(text)).toThrow(`a.yaml: ${message}`)
})
