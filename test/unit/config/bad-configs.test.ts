import { expect, test } from 'vitest'
import { ConfigError } from '../../../src/config/errors.js'
import { loadConfig } from '../../../src/config/load.js'

const SHA = 'a'.repeat(64)
const OTHER = 'b'.repeat(64)
const key = (name: string, sha256: string, owner = name) =>
  `{ name: ${name}, owner: "${owner}", sha256: "${sha256}" }`
const web = (rest = '') => `upstreams: { a: { url: "http://127.0.0.1:1/"${rest} } }`

/** What is wrong, the file, and the whole message that it must give. */
const CASES: readonly (readonly [string, string, string])[] = [
  ['a misspelt key', 'nmae: x', 'nmae: unknown key; did you mean name?'],
  [
    'a key that resembles nothing',
    'log: { colour: red }',
    'log.colour: unknown key; known here: level, calls',
  ],
  [
    'a misspelt key in an upstream, before what it leaves missing',
    'upstreams: { a: { store: sqlite, paht: a.db } }',
    'upstreams.a.paht: unknown key; did you mean path?',
  ],
  [
    'a misspelt key in a list',
    `auth: { keys: [{ nome: x, owner: x, sha256: "${SHA}" }] }`,
    'auth.keys[0].nome: unknown key; did you mean name?',
  ],
  [
    'summaries by a model that is not there',
    'summarize: model',
    'summarize: model needs models.summarize; extractive needs no model',
  ],
  [
    'a model at no URL',
    'models: { prompt: { url: "localhost:1234", model: m } }',
    'models.prompt.url: must be an http:// or https:// URL',
  ],
  [
    'a model with its key in the URL',
    'models: { summarize: { url: "https://u:p@m.example/v1", model: m } }',
    'models.summarize.url: must not carry a user or password; put a token into auth.bearer',
  ],
  [
    'a model without a name',
    'models: { prompt: { url: "https://m.example/v1" } }',
    'models.prompt.model: is missing',
  ],
  [
    'a model for something else',
    'models: { recall: { url: "https://m.example/v1", model: m } }',
    'models.recall: unknown key; known here: prompt, summarize',
  ],
  ['a file that is a list', '[]', 'must be a mapping of keys to values'],
  [
    'no YAML',
    'name: [',
    'not valid YAML: Flow sequence in block collection must be sufficiently indented and end with a ] at line 1, column 8',
  ],
  [
    'a tag of its own',
    'name: !secret x',
    'not valid YAML: Unresolved tag: !secret at line 1, column 7',
  ],
  ['an alias that holds itself', 'log: &a { level: *a }', 'log.level.level: is nested too deep'],
  ['a key of prototypes', '__proto__: { name: x }', 'a key must be a plain name'],
  ['two tiers of one name', 'tiers:\n  t: {}\n  t: {}', 'tiers.t: stands here twice'],
  ['two upstreams of one name', 'upstreams: { a: {}, "a": {} }', 'upstreams.a: stands here twice'],
  [
    'a variable that is not set',
    'upstreams: { a: { url: "http://h/", auth: { bearer: "${NOWHERE}" } } }',
    'upstreams.a.auth.bearer: the environment variable NOWHERE is not set',
  ],
  [
    'a variable with a default',
    'name: "${A:-b}"',
    'name: ${A:-b} names no environment variable; write ${NAME}',
  ],
  [
    'a variable that is not closed',
    'upstreams: { a: { url: "http://h/", auth: { bearer: "${TOKEN" } } }',
    'upstreams.a.auth.bearer: has a ${ that is not closed; write ${NAME}',
  ],
  [
    'a variable that is not closed after one that is',
    'name: "$${A} ${"',
    'name: has a ${ that is not closed; write ${NAME}',
  ],
  ['an empty name', 'name: ""', 'name: must not be empty'],
  ['a name that is a number', 'name: 7', 'name: must be text; put it in quotes'],
  [
    'a port out of range',
    'listen: { port: 65536 }',
    'listen.port: must be a whole number from 0 to 65535',
  ],
  [
    'a host with a port',
    'listen: { host: "localhost:80" }',
    'listen.host: must be a host name or an address, without scheme or port',
  ],
  ['a relative path', 'listen: { path: a2m }', 'listen.path: must be a path such as / or /a2m'],
  [
    'a path for calls that is the one of health',
    'listen: { path: /health }',
    'listen.path: what is under /health the gateway answers itself; choose another path, such as /a2m',
  ],
  [
    'a path for calls under what is well known',
    'listen: { path: /.well-known/a2m-server.json }',
    'listen.path: what is under /.well-known the gateway answers itself; choose another path, such as /a2m',
  ],
  [
    'one port for callers and operators',
    'admin: { port: 8787 }',
    'admin.port: 8787 is also the port of listen; choose another, or write admin: off',
  ],
  [
    'one port for callers everywhere and operators here',
    `listen: { host: 0.0.0.0, port: 9000 }\nadmin: { port: 9000 }\nauth: { keys: [${key('a', SHA)}] }`,
    'admin.port: 9000 is also the port of listen; choose another, or write admin: off',
  ],
  [
    'an open door',
    'listen: { host: 0.0.0.0 }',
    'listen.host: 0.0.0.0 is reached from other machines, and nobody has to show a key; add auth.keys or listen on 127.0.0.1',
  ],
  [
    'an open door by name',
    'listen: { host: 127.example }',
    'listen.host: 127.example is reached from other machines, and nobody has to show a key; add auth.keys or listen on 127.0.0.1',
  ],
  [
    'a time without a unit',
    web(', timeout: 2'),
    'upstreams.a.timeout: must be a duration such as 500ms, 2s or 5m, at most 24h',
  ],
  [
    'no time at all',
    web(', timeout: 0s'),
    'upstreams.a.timeout: must be a duration such as 500ms, 2s or 5m, at most 24h',
  ],
  [
    'a time that no timer can hold',
    web(', refresh: 900h'),
    'upstreams.a.refresh: must be a duration such as 500ms, 2s or 5m, at most 24h',
  ],
  [
    'a size that is none',
    'limits: { body_bytes: 4MB }',
    'limits.body_bytes: must be a size such as 65536, 512KiB or 16MiB, at least 1KiB and at most 1GiB',
  ],
  [
    'an origin with a path',
    'allowed_origins: ["https://app.example/"]',
    'allowed_origins[0]: must be an origin such as https://app.example: scheme, host and port, in lower case, without a path',
  ],
  ['no keys', 'auth: { keys: [] }', 'auth.keys: must hold at least one key'],
  ['auth of nobody', 'auth: {}', 'auth: lets nobody in; it needs keys, jwt or mtls'],
  [
    'a digest that is none',
    `auth: { keys: [${key('a', 'abc')}] }`,
    'auth.keys[0].sha256: must be a SHA-256 in 64 hexadecimal digits; `a2m-gateway keys new` makes one',
  ],
  [
    'keys of one name and other owners',
    `auth: { keys: [${key('a', SHA)}, ${key('a', OTHER, 'b')}] }`,
    "auth.keys[1].owner: another key of a has other owners; keys of one name are one caller's and agree",
  ],
  [
    'two names of one key, in either case',
    `auth: { keys: [${key('a', SHA)}, ${key('b', SHA.toUpperCase())}] }`,
    'auth.keys[1].sha256: this is also the key of a',
  ],
  ['no upstreams', 'upstreams: {}', 'upstreams: must name at least one, or be left out'],
  ['tiers of nobody', 'tiers: { t: { upstream: a } }', 'tiers: needs upstreams that hold them'],
  [
    'a name with a dot',
    'upstreams: { a.b: { store: sqlite } }',
    'upstreams."a.b": a name is made of letters, digits, - and _, 64 at most',
  ],
  [
    'no way there',
    'upstreams: { a: { timeout: 1s } }',
    'upstreams.a: needs one of url, command and store, and one only',
  ],
  [
    'two ways there',
    'upstreams: { a: { url: "http://h/", command: [x] } }',
    'upstreams.a: needs one of url, command and store, and one only',
  ],
  [
    'a token for a child',
    'upstreams: { a: { command: [x], auth: { bearer: t } } }',
    'upstreams.a.auth: goes with url, not with command',
  ],
  [
    'a metric of what is no store',
    'upstreams: { a: { url: "http://127.0.0.1:1/", metric: dot } }',
    'upstreams.a.metric: goes with store, not with url',
  ],
  [
    'a metric that is none',
    'upstreams: { a: { store: sqlite, path: a.db, metric: manhattan } }',
    'upstreams.a.metric: must be cosine or dot or l2',
  ],
  [
    'a store without a file',
    'upstreams: { a: { store: sqlite } }',
    'upstreams.a.path: is missing; name the file of the store',
  ],
  ['another store', 'upstreams: { a: { store: redis } }', 'upstreams.a.store: must be sqlite'],
  [
    'a bad URL',
    'upstreams: { a: { url: "nowhere" } }',
    'upstreams.a.url: must be an http:// or https:// URL',
  ],
  [
    'a URL of files',
    'upstreams: { a: { url: "file:///etc" } }',
    'upstreams.a.url: must be an http:// or https:// URL',
  ],
  [
    'a password in a URL',
    'upstreams: { a: { url: "http://u:hush@h/" } }',
    'upstreams.a.url: must not carry a user or password; put a token into auth.bearer',
  ],
  [
    'two stores in one file',
    'upstreams: { a: { store: sqlite, path: x.db }, b: { store: sqlite, path: ./y/../x.db } }',
    'upstreams.b.path: is already the file of a',
  ],
  [
    "a store in the gateway's own file",
    'data_dir: d\nupstreams: { a: { store: sqlite, path: ./x/../gateway.db } }',
    "upstreams.a.path: gateway.db in data_dir is the gateway's own file; name another",
  ],
  [
    'tokens for a child',
    'upstreams: { a: { command: [facts], owner: token } }',
    'upstreams.a.owner: token goes with url: a child or a store of its own is asked by nobody else, so that parameter keeps owners apart',
  ],
  [
    'tokens for a built-in store',
    'upstreams: { a: { store: sqlite, path: a.db, owner: token } }',
    'upstreams.a.owner: token goes with url: a child or a store of its own is asked by nobody else, so that parameter keeps owners apart',
  ],
  [
    'an audience of no tokens',
    web(', audience: vault'),
    'upstreams.a.audience: is whom tokens are for; it goes with owner: token',
  ],
  [
    'an empty audience',
    web(', owner: token, audience: ""'),
    'upstreams.a.audience: must not be empty',
  ],
  ['tokens for ever', 'signing: { lifetime: 2h }', 'signing.lifetime: must be from 2s to 1h'],
  ['tokens for no time', 'signing: { lifetime: 1s }', 'signing.lifetime: must be from 2s to 1h'],
  [
    'keys shorter than their tokens',
    'signing: { lifetime: 1h, rotate: 30m }',
    'signing.rotate: must not be shorter than lifetime',
  ],
  [
    'tokens that anyone could sign who can check them',
    'signing: { algorithm: HS256 }',
    'signing.algorithm: must be EdDSA or ES256',
  ],
  [
    'a store in the file of the signing keys',
    'data_dir: d\nupstreams: { a: { store: sqlite, path: signing-keys.json } }',
    "upstreams.a.path: signing-keys.json in data_dir is the gateway's own file; name another",
  ],
  [
    'the audit log in the file of the signing keys',
    'audit: { path: signing-keys.json }',
    "audit.path: signing-keys.json in data_dir is the gateway's own file; name another",
  ],
  [
    'the owner in metadata of records that the upstream numbers',
    web(', owner: metadata, ids: foreign'),
    'upstreams.a.ids: foreign excludes owner: metadata, by which the gateway gives each record an id that says whose it is',
  ],
  [
    'the owner in metadata of a store that knows owners',
    'upstreams: { a: { store: sqlite, path: a.db, owner: metadata } }',
    'upstreams.a.owner: metadata is for upstreams that know no owners; a built-in store keeps them apart itself: leave owner out',
  ],
  [
    'a way for owners that is none',
    web(', owner: header'),
    'upstreams.a.owner: must be parameter or token or metadata or none',
  ],
  [
    'confined callers at a store without owners',
    `${web(', owner: none')}\nauth: { keys: [${key('root', SHA, '*')}, ${key('b', OTHER)}] }`,
    "upstreams.a.owner: none keeps nobody's records apart, and the key b is confined to its own; add access: read-only",
  ],
  [
    'a tier of nowhere',
    `${web()}\ntiers: { t: { upstream: b } }`,
    'tiers.t.upstream: there is no upstream called b; there are a',
  ],
  [
    'a tier that is also nowhere',
    `${web()}\ntiers: { t: { upstream: a, also: [b] } }`,
    'tiers.t.also[0]: there is no upstream called b; there are a',
  ],
  [
    'a tier that is also at home',
    `${web()}\ntiers: { t: { upstream: a, also: [a] } }`,
    'tiers.t.also[0]: a is already asked for this tier',
  ],
  [
    'a spill into nothing',
    `${web()}\ntiers: { t: { upstream: a, spill_to: u } }`,
    'tiers.t.spill_to: there is no tier called u; there are t',
  ],
  [
    'a promotion into nothing',
    `${web()}\ntiers: { t: { upstream: a, promote_to: u } }`,
    'tiers.t.promote_to: there is no tier called u; there are t',
  ],
  [
    'a spill into itself',
    `${web()}\ntiers: { t: { upstream: a, spill_to: t } }`,
    'tiers.t.spill_to: is the tier itself',
  ],
  [
    'a spill in a circle, told where it begins',
    `${web()}\ntiers: { s: { upstream: a, spill_to: t }, t: { upstream: a, spill_to: u }, u: { upstream: a, spill_to: t } }`,
    'tiers.t.spill_to: spills in a circle: t > u > t',
  ],
  [
    'dropping and spilling',
    `${web()}\ntiers: { t: { upstream: a, spill_to: u, overflow: drop }, u: { upstream: a } }`,
    'tiers.t.overflow: drop and spill_to exclude each other',
  ],
  [
    'two tiers in one place',
    `${web()}\ntiers: { t: { upstream: a }, u: { upstream: a, upstream_tier: t } }`,
    'tiers.u.upstream_tier: t of a is already the tier t',
  ],
  [
    'a share of no capacity for each session',
    `${web()}\ntiers: { t: { upstream: a, per_session: true } }`,
    'tiers.t.per_session: needs a capacity that each session may have',
  ],
  [
    'a promotion to nowhere',
    `${web()}\ntiers: { t: { upstream: a, promote_after: 3 } }`,
    'tiers.t.promote_after: needs a promote_to that says where to',
  ],
  [
    'a promotion after no use at all',
    `${web()}\ntiers: { t: { upstream: a, promote_after: 0 } }`,
    'tiers.t.promote_after: must be a whole number from 1 to 1000000000',
  ],
  [
    'a half-life of no time',
    `${web()}\ntiers: { t: { upstream: a, half_life: 0d } }`,
    'tiers.t.half_life: must be a duration such as 30m, 12h or 7d, at most 3650d',
  ],
  [
    'a spill into procedures',
    `${web()}\ntiers: { t: { upstream: a, spill_to: p }, p: { upstream: a, kind: procedural } }`,
    'tiers.t.spill_to: p is procedural memory, and nothing spills into that',
  ],
  [
    'a vote by vector of too much weight',
    'recall: { voters: { vector: 101 } }',
    'recall.voters.vector: must be a number from 0 to 100',
  ],
  [
    'a negative weight',
    'recall: { voters: { lexical: -1 } }',
    'recall.voters.lexical: must be a number from 0 to 100',
  ],
  [
    'half a record',
    'recall: { limit: 1.5 }',
    'recall.limit: must be a whole number from 1 to 10000',
  ],
]

function problemOf(text: string, env: Record<string, string> = {}): string {
  try {
    loadConfig({ text, file: 'a.yaml', env, cwd: '/srv' })
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.message
    throw thrown
  }
  throw new Error('it loaded')
}

test.each(CASES)('%s', (_, text, message) => {
  expect(problemOf(text)).toBe(`a.yaml: ${message}`)
})

test('every message is one line', () => {
  expect(CASES.filter(([, , message]) => message.includes('\n'))).toEqual([])
})

const CANARY = 'canary-f00d'

/** Every place that takes text, filled from the environment with something that does not fit there. */
const SECRETS: readonly string[] = [
  'listen: { host: "${S}:1" }',
  'listen: { path: "${S}" }',
  'log: { level: "${S}" }',
  'durability: "${S}"',
  'allowed_origins: ["${S}"]',
  'auth: { keys: [{ name: a, owner: a, sha256: "${S}" }] }',
  'upstreams: { a: { url: "${S}" } }',
  'upstreams: { a: { url: "http://${S}:${S}@h/" } }',
  'upstreams: { a: { url: "http://h/", owner: "${S}" } }',
  'upstreams: { a: { url: "http://h/", timeout: "${S}" } }',
  'upstreams: { a: { url: "http://h/", concurrency: "${S}" } }',
  'upstreams: { a: { url: "http://h/", max_reply_bytes: "${S}" } }',
  'upstreams: { a: { url: "http://h/", auth: "${S}" } }',
  'listen: { host: "${S}" }',
  'upstreams: { a: { url: "http://h/" } }\ntiers: { t: { upstream: a, spill_to: "${S}" } }',
  'upstreams: { a: { command: [x], env: { T: "${S}" }, auth: { bearer: "${S}" } } }',
]

test.each(SECRETS)('a value of the environment stays out of the message: %s', (text) => {
  const message = problemOf(text, { S: CANARY })
  expect(message).not.toContain(CANARY)
})

test('a message that repeats a value names the variable instead', () => {
  const text = 'upstreams: { a: { url: "http://h/" } }\ntiers: { t: { upstream: "${S}" } }'
  expect(problemOf(text, { S: CANARY })).toBe(
    'a.yaml: tiers.t.upstream: there is no upstream called ${S}; there are a',
  )
})
