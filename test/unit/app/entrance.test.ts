import { pino } from 'pino'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { openEntrance, warnOfReadable } from '../../../src/app/entrance.js'
import { loadConfig } from '../../../src/config/load.js'
import { systemClock } from '../../../src/protocol/time.js'

const SHA = '6f4c7f5e2e8d1d1a4e6ad0e59de9b5ed2cc8c5a3f3e9c7d9d0b9d5a0a2d1f0aa'
const keys = (owner: string) => `keys: [{ name: a, owner: ${owner}, sha256: "${SHA}" }]`
const load = (text: string) => loadConfig({ text, file: 'a.yaml', env: {}, cwd: '/nowhere' })

/** A log that keeps what it is told. */
function kept() {
  const lines: string[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => lines.push(line) })
  return { log, lines }
}

const open = (text: string) =>
  openEntrance(load(text), {
    clock: systemClock,
    log: kept().log,
    metricRegistry: new Registry(),
  })

test.each([
  ['0.0.0.0', `auth: { ${keys('a')} }`, 1],
  ['::', `auth: { ${keys('a')} }`, 1],
  ['127.0.0.1', `auth: { ${keys('a')} }`, 0],
  ['::1', `auth: { ${keys('a')} }`, 0],
  ['127.0.0.1', '', 0],
  ['0.0.0.0', `listen: { tls: { cert: c, key: k } }\nauth: { ${keys('a')} }`, 0],
])('on %s, with %j: %i warnings of what can be read on the way', (host, text, warnings) => {
  const { log, lines } = kept()
  warnOfReadable(load(text), host, log)
  expect(lines).toHaveLength(warnings)
})

test('files that are not there are named with their key in the configuration', async () => {
  await expect(open('listen: { tls: { cert: c.pem, key: k.pem } }')).rejects.toThrow(
    'listen.tls.cert: /nowhere/c.pem is not there',
  )
  const jwt = '{ issuer: i, audience: a, algorithms: [EdDSA], jwks_file: keys.json }'
  await expect(open(`auth: { ${keys('a')}, jwt: [${jwt}] }`)).rejects.toThrow(
    'auth.jwt[0].jwks_file: /nowhere/keys.json cannot be read (ENOENT)',
  )
})

test('a reload that fails at its last file has changed nothing', async () => {
  const text = `roles: { reader: { access: read } }\nauth: { ${keys('a')} }`
  const entrance = await open(text)
  const bad = `${text.replace('read }', 'write }')}\nlisten: { tls: { cert: c.pem, key: k.pem } }`
  await expect(entrance.reload(load(bad))).rejects.toThrow('listen.tls.cert')
  expect(entrance.roles()?.get('reader')?.access).toBe('read')
  expect(await entrance.reload(load(text.replace('read }', 'write }')))).toEqual([])
  expect(entrance.roles()?.get('reader')?.access).toBe('write')
})

test('auth and roles come and go with a restart only, and what else changes is named', async () => {
  const text = `auth: { ${keys('a')} }`
  const entrance = await open(text)
  await expect(entrance.reload(load(''))).rejects.toThrow('auth: comes or goes only with a restart')
  await expect(entrance.reload(load(`roles: { r: { access: read } }\n${text}`))).rejects.toThrow(
    'roles: comes or goes only with a restart',
  )
  const next = `durability: full\nallowed_origins: ["https://a.example"]\nauth: { ${keys('[a, b]')}, leeway: 5s, owner_mismatch: ignore }`
  expect(await entrance.reload(load(next))).toEqual([
    'durability',
    'allowed_origins',
    'auth.owner_mismatch',
  ])
})
