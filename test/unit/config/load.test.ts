import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Config } from '../../../src/config/config.js'
import { defaultConfig, loadConfig } from '../../../src/config/load.js'
import { secretsOfModels } from '../../../src/config/secrets.js'

const load = (text: string, env: Record<string, string> = {}): Config =>
  loadConfig({ text, file: 'a.yaml', env, cwd: '/srv' })
const upstream = (text: string, env: Record<string, string> = {}) =>
  load(text, env).federation.upstreams[0]

describe('no file at all', () => {
  const { federation, ...rest } = defaultConfig('/srv')

  test('listens on loopback, with what an empty file says', () => {
    expect(rest).toEqual({
      name: 'a2m-gateway',
      listen: { host: '127.0.0.1', port: 8787, path: '/', tls: undefined },
      admin: { host: '127.0.0.1', port: 8788 },
      dataDir: '/srv/data',
      durability: 'normal',
      events: { keep: 10_000, maxAge: 604_800_000, tail: undefined },
      signing: {
        issuer: 'a2m-gateway',
        subject: 'a2m-gateway',
        lifetime: 300_000,
        rotate: 2_592_000_000,
        algorithm: 'EdDSA',
      },
      usage: {
        ledger: { kind: 'sqlite' },
        spool: { interval: 1000, maxBytes: 1_073_741_824 },
        onFailure: 'continue',
        heldEvents: 10_000,
        keep: 7_776_000_000,
        charactersPerToken: 4,
        countAt: 3,
        sinks: [],
      },
      federations: [],
      versions: [
        {
          name: 'a2m/0.1',
          serves: { kind: 'federation', federation: 'default' },
          deprecated: undefined,
          sunset: undefined,
          link: undefined,
        },
      ],
      allowedOrigins: [],
      auth: undefined,
      limits: {
        bodyBytes: 4_194_304,
        receiveTimeout: 10_000,
        requestTimeout: 30_000,
        shutdownTimeout: 10_000,
      },
      models: { prompt: undefined, summarize: undefined },
      summarize: 'extractive',
      log: { level: 'info', calls: true },
    })
    expect(load('')).toEqual(defaultConfig('/srv'))
  })

  test('is a federation of three stores with four tiers', () => {
    expect(federation.upstreams.map(({ connect }) => connect)).toEqual([
      { kind: 'store', path: '/srv/data/working.db', tiers: ['working'] },
      { kind: 'store', path: '/srv/data/knowledge.db', tiers: ['episodic', 'semantic'] },
      { kind: 'store', path: '/srv/data/procedural.db', tiers: ['procedural'] },
    ])
    expect(federation.tiers[0]).toEqual({
      name: 'working',
      kind: 'working',
      upstream: 'working',
      upstreamTier: 'working',
      also: [],
      capacity: 64,
      spillTo: 'episodic',
      perSession: true,
      promoteTo: undefined,
      promoteAfter: undefined,
      halfLife: undefined,
      overflow: 'keep',
    })
    expect(federation.recall).toEqual({
      limit: 8,
      window: 20,
      k: 60,
      voters: { lexical: 1, vector: 1 },
      onFailure: 'partial',
    })
  })
})

test('a file that names no upstream keeps the embedded stores', () => {
  const { federation, dataDir } = load('data_dir: /var/lib/a2m')
  expect(dataDir).toBe('/var/lib/a2m')
  expect(federation.upstreams[1]?.connect).toMatchObject({ path: '/var/lib/a2m/knowledge.db' })
})

test('an upstream over HTTP has its defaults', () => {
  expect(upstream('upstreams: { a: { url: "https://h/x" } }')).toEqual({
    name: 'a',
    connect: { kind: 'http', url: 'https://h/x', bearer: undefined, connections: 64 },
    owner: undefined,
    access: undefined,
    ids: undefined,
    timeout: 2000,
    concurrency: 64,
    retries: 1,
    breaker: { failures: 5, reset: 5000 },
    maxReplyBytes: 16_777_216,
    refresh: 60_000,
  })
})

test('a child gets the environment it was given by name, and no other', () => {
  const child = upstream(
    'upstreams: { a: { command: [s, --db, x], env: { T: "${S}" }, cwd: d } }',
    {
      S: 'secret',
      OTHER: 'x',
    },
  )
  expect(child?.connect).toEqual({
    kind: 'stdio',
    command: ['s', '--db', 'x'],
    env: { T: 'secret' },
    cwd: '/srv/d',
  })
})

test('a store holds the tiers that are mapped to it, by the names it has for them, and is told its metric', () => {
  const { upstreams } = load(`
upstreams: { a: { store: sqlite, path: a.db, metric: dot }, old: { store: sqlite, path: /o.db } }
tiers:
  semantic: { upstream: a, upstream_tier: facts, also: [old] }
  episodic: { upstream: a }
`).federation
  expect(upstreams.map(({ connect }) => connect)).toEqual([
    { kind: 'store', path: '/srv/data/a.db', metric: 'dot', tiers: ['facts', 'episodic'] },
    { kind: 'store', path: '/o.db', tiers: ['semantic'] },
  ])
})

test('upstreams and tiers keep the order of the file, numbers included', () => {
  const names = ['z', '10', 'a', '2']
  const { federation } = load(`
upstreams: { ${names.map((name) => `${name}: { store: sqlite, path: ${name}.db }`).join(', ')} }
tiers: { ${names.map((name) => `${name}: { upstream: "${name}" }`).join(', ')} }
`)
  expect(federation.upstreams.map(({ name }) => name)).toEqual(names)
  expect(federation.tiers.map(({ name }) => name)).toEqual(names)
})

test.each([
  ['2s', 2000],
  ['500ms', 500],
  ['1.5s', 1500],
  ['5m', 300_000],
  ['24h', 86_400_000],
])('%s is %d ms', (written, ms) => {
  expect(upstream(`upstreams: { a: { url: "http://h/", timeout: ${written} } }`)?.timeout).toBe(ms)
})

test('numbers may come from the environment', () => {
  expect(load('listen: { port: "${PORT}" }', { PORT: '0' }).listen.port).toBe(0)
})

test('a doubled dollar is a dollar', () => {
  expect(load('name: "a $${HOME} $5 {x}"').name).toBe('a ${HOME} $5 {x}')
})

test('the environment is not read twice', () => {
  expect(load('name: "${A}"', { A: '${B}', B: 'x' }).name).toBe('${B}')
})

test.each(['off', 'false'])('admin: %s closes the admin listener', (word) => {
  expect(load(`admin: ${word}`).admin).toBeUndefined()
})

test('a digest is compared in lower case', () => {
  const sha256 = 'AB'.repeat(32)
  const { auth } = load(`auth: { keys: [{ name: a, owner: "*", sha256: "${sha256}" }] }`)
  expect(auth).toEqual({
    keys: [{ name: 'a', owner: '*', sha256: sha256.toLowerCase(), roles: [] }],
    keysFile: undefined,
    jwt: [],
    mtls: undefined,
    leeway: 30_000,
    ownerMismatch: 'deny',
  })
})

test('with keys it may listen on every address', () => {
  const sha256 = 'ab'.repeat(32)
  const text = `listen: { host: "::" }\nauth: { keys: [{ name: a, owner: a, sha256: "${sha256}" }] }`
  expect(load(text).listen.host).toBe('::')
})

test.each(['127.0.0.1', '127.8.9.1', '::1', 'localhost'])('%s is loopback', (host) => {
  expect(load(`listen: { host: "${host}" }`).listen.host).toBe(host)
})

describe('an address from the command line', () => {
  const source = { text: 'listen: { port: 1, path: /a }', file: 'a.yaml', env: {}, cwd: '/srv' }

  test('goes before the file', () => {
    const { listen } = loadConfig({ ...source, listen: { port: 2 } })
    expect(listen).toEqual({ host: '127.0.0.1', port: 2, path: '/a' })
    expect(defaultConfig('/srv', { host: '::1' }).listen.host).toBe('::1')
  })

  test('is held to the same rules', () => {
    const listen = { host: '0.0.0.0' }
    expect(() => loadConfig({ ...source, listen })).toThrow(/^a\.yaml: listen\.host: 0\.0\.0\.0/)
    expect(() => defaultConfig('/srv', listen)).toThrow(/^listen\.host: 0\.0\.0\.0/)
  })
})

test('the value is frozen all the way down', () => {
  const unfrozen: string[] = []
  const walk = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return
    if (!Object.isFrozen(value)) unfrozen.push(path)
    for (const [name, part] of Object.entries(value)) walk(part, `${path}.${name}`)
  }
  walk(load('upstreams: { a: { command: [x], env: { A: b } } }'), 'config')
  walk(defaultConfig('/srv'), 'default')
  expect(unfrozen).toEqual([])
})

test('an unknown key is refused wherever it stands', () => {
  const places = ['listen', 'admin', 'limits', 'log', 'recall']
  fc.assert(
    fc.property(fc.constantFrom(...places), fc.stringMatching(/^x[a-z_]{8,20}$/), (place, key) => {
      expect(() => load(`${place}: { ${key}: 1 }`)).toThrow(`a.yaml: ${place}.${key}: unknown key`)
    }),
  )
})

test('what is told owners in metadata has ids that the gateway gave, also where it is only read', () => {
  const idsOf = (more: string) =>
    load(`upstreams: { a: { url: "http://127.0.0.1:1/"${more} } }`).federation.upstreams[0]?.ids
  expect(idsOf(', owner: metadata, access: read-only')).toBe('own')
  expect(idsOf(', access: read-only')).toBeUndefined()
})

describe('the examples', () => {
  const folder = new URL('../../../config/', import.meta.url)
  const examples = readdirSync(folder).filter((name) => name.endsWith('.yaml'))
  /** What a reader would have to set before trying one. */
  const env = {
    VECTORS_TOKEN: 'v',
    FACTS_TOKEN: 'f',
    TEAM_TOKEN: 't',
    NEXT_TOKEN: 'n',
    QUOTAS_REDIS: 'redis://127.0.0.1/0',
    USAGE_DATABASE: 'postgres://127.0.0.1/usage',
    METER_TOKEN: 'token',
    QUOTAS_HOOK_TOKEN: 'h',
  }

  test('there are some', () => {
    expect(examples.length).toBeGreaterThanOrEqual(4)
  })

  test.each(examples)('%s loads', (name) => {
    const text = readFileSync(new URL(name, folder), 'utf8')
    const config = loadConfig({ text, file: name, env, cwd: '/srv' })
    expect(config.federation.upstreams.length).toBeGreaterThan(0)
  })
})

describe('models', () => {
  const prompt = 'prompt: { url: "https://m.example/v1", model: small }'
  const summarize =
    'summarize: { url: "http://127.0.0.1:9/v1", model: big, auth: { bearer: "${KEY}" }, timeout: 90s }'

  test('are asked for what they are named under, with a key from the environment', () => {
    const { models } = load(`models: { ${prompt}, ${summarize} }`, { KEY: 'secret-key' })
    expect(models).toEqual({
      prompt: { url: 'https://m.example/v1', model: 'small', bearer: undefined, timeout: 20_000 },
      summarize: {
        url: 'http://127.0.0.1:9/v1',
        model: 'big',
        bearer: 'secret-key',
        timeout: 90_000,
      },
    })
    expect(secretsOfModels(models)).toEqual(['secret-key'])
  })

  test('make the summaries where there is one for it, unless told otherwise', () => {
    const env = { KEY: 'k' }
    expect(load('').summarize).toBe('extractive')
    expect(load(`models: { ${prompt} }`).summarize).toBe('extractive')
    expect(load(`models: { ${summarize} }`, env).summarize).toBe('model')
    expect(load(`models: { ${summarize} }\nsummarize: extractive`, env).summarize).toBe(
      'extractive',
    )
    expect(load('summarize: off').summarize).toBe('off')
  })
})
