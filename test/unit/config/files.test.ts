import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../../src/config/load.js'

const load = (text: string, file = 'conf/a.yaml') =>
  loadConfig({ text: `data_dir: /d\n${text}`, file, env: {}, cwd: '/srv' })

const WRITERS = {
  'upstreams.a.path': (file: string) => `upstreams: { a: { store: sqlite, path: ${file} } }`,
  'audit.path': (file: string) => `audit: { path: ${file} }`,
  'usage.sinks.a.jsonl': (file: string) => `usage: { sinks: { a: { jsonl: ${file} } } }`,
}

describe.each(Object.entries(WRITERS))('%s', (path, writing) => {
  test.each([
    ...['gateway.db', 'quotas.db', 'usage.db'].flatMap((name) =>
      ['', '-wal', '-shm', '-journal'].map((end) => name + end),
    ),
    'signing-keys.json',
  ])("may not be the gateway's own %s", (name) => {
    expect(() => load(writing(`/d/x/../${name}`))).toThrow(
      `conf/a.yaml: ${path}: ${name} in data_dir is the gateway's own file; name another`,
    )
  })

  test.each(['usage', 'usage/lane.db', 'usage/x/y', 'x/../usage/0000000000000001.jsonl'])(
    'may not be in the folder of the spool: %s',
    (name) => {
      expect(() => load(writing(`/d/${name}`))).toThrow(
        `conf/a.yaml: ${path}: the folder usage in data_dir is the gateway's own; name a file elsewhere`,
      )
    },
  )

  test('may not be the configuration', () => {
    const problem = `${path}: is the file of the configuration itself; name another`
    expect(() => load(writing('/srv/conf/a.yaml'))).toThrow(problem)
    expect(() => load(writing('/etc/b.yaml'), '/etc/b.yaml')).toThrow(problem)
  })

  test('may not be a certificate', () => {
    const tls = 'listen: { tls: { cert: a.pem, key: a.key } }\n'
    expect(() => load(tls + writing('/srv/a.key'))).toThrow(
      `${path}: is the file of listen.tls.key; name another`,
    )
  })

  test.each(['usage.jsonl', 'usages', 'a.yaml', 'gateway.db-wals', 'gateway.db-wal.1'])(
    'may be %s',
    (name) => {
      expect(() => load(writing(`/d/${name}`))).not.toThrow()
    },
  )
})

const both = (store: string, audit: string, sink: string) =>
  `upstreams: { a: { store: sqlite, path: /l/${store} } }\naudit: { path: /l/${audit} }\nusage: { sinks: { s: { jsonl: /l/${sink} } } }`

test.each([
  [both('a.db', 'a.db-wal', 's'), 'audit.path: a.db-wal and a.db, the file of a: one is'],
  [both('a.db', 'l', 'a.db-journal'), 'usage.sinks.s.jsonl: a.db-journal and a.db, the file of a:'],
  [both('l.db-shm', 'l', 'l.db'), undefined],
  [both('a-000001.jsonl', 'a.jsonl', 's'), 'audit.path: a.jsonl and a-000001.jsonl, the file of a'],
  [both('a', 'l.x', 'l-1234567.x'), 'usage.sinks.s.jsonl: l-1234567.x and l.x, the file of audit'],
  [both('a', 'l', 'l-000001'), 'usage.sinks.s.jsonl: l-000001 and l, the file of audit'],
  [both('a', 'l.x', 'l-1.x'), undefined],
  [both('s.2', 'l', 's'), 'usage.sinks.s.jsonl: s and s.2, the file of a'],
  [both('a', 's.1', 's'), 'usage.sinks.s.jsonl: s and s.1, the file of audit'],
  [both('a', 's.old', 's'), undefined],
])('names that are made from others: %s', (text, problem) => {
  if (problem === undefined) expect(() => load(text)).not.toThrow()
  else expect(() => load(text)).toThrow(`conf/a.yaml: ${problem}`)
})

test('two sinks, and stores of two federations', () => {
  expect(() => load('usage: { sinks: { a: { jsonl: x.1 }, b: { jsonl: x } } }')).toThrow(
    'usage.sinks.b.jsonl: x and x.1, the file of usage.sinks.a',
  )
  const federations =
    'federations: { f: { upstreams: { b: { store: sqlite, path: ../a.db-wal } } } }'
  expect(() => load(`upstreams: { a: { store: sqlite, path: a.db } }\n${federations}`)).toThrow(
    'federations.f.upstreams.b.path: a.db-wal and a.db, the file of a',
  )
})
