import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createSigner, type Signer, type SignerOptions } from '../../../src/identity/signer.js'
import type { KeyRing } from '../../../src/identity/signing-keys.js'
import { temporaryFolder } from '../../support/federation.js'
import { HandClock } from '../../support/hand-clock.js'

const MINUTE = 60_000
const DAY = 86_400_000
const VAULT = { upstream: 'vault', audience: 'https://vault.internal' }

let folder: ReturnType<typeof temporaryFolder>
let clock: HandClock
let told: string[]
let path: string
beforeEach(() => {
  folder = temporaryFolder()
  path = join(folder.path, 'signing-keys.json')
  clock = new HandClock()
  clock.pass(Date.UTC(2026, 0, 1))
  told = []
})
afterEach(() => folder.remove())

function open(over: Partial<SignerOptions> = {}): Promise<Signer> {
  let made = 0
  return createSigner({
    path,
    issuer: 'https://memory.example',
    algorithm: 'EdDSA',
    lifetime: 5 * MINUTE,
    rotate: 30 * DAY,
    clock,
    newId: () => `id-${++made}`,
    purpose: 'serve',
    events: {
      signed: (upstream) => told.push(`signed ${upstream}`),
      rotated: () => told.push('rotated'),
      failed: (problem) => told.push(problem),
    },
    ...over,
  })
}

const keysIn = (signer: Signer): string[] =>
  (JSON.parse(signer.published().body) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid)

/** As an upstream would, going by what is published at this moment. */
async function verify(signer: Signer, token: string, audience = VAULT.audience) {
  const keys = createLocalJWKSet(JSON.parse(signer.published().body))
  const rules = { issuer: 'https://memory.example', audience, currentDate: new Date(clock.now()) }
  return (await jwtVerify(token, keys, { ...rules, algorithms: ['EdDSA', 'ES256'] })).payload
}

describe('a token', () => {
  test('names the gateway, the owner and the upstream, and is short-lived', async () => {
    const signer = await open()
    const token = await signer.token(VAULT, 'anna')
    const now = clock.now() / 1000
    expect(await verify(signer, token)).toEqual({
      iss: 'https://memory.example',
      sub: 'anna',
      aud: 'https://vault.internal',
      iat: now,
      nbf: now - 30,
      exp: now + 300,
      jti: 'id-1',
    })
    const [current] = keysIn(signer)
    expect(decodeProtectedHeader(token)).toEqual({ alg: 'EdDSA', kid: current, typ: 'JWT' })
  })

  test('is signed as the configuration says', async () => {
    const signer = await open({ algorithm: 'ES256' })
    const token = await signer.token(VAULT, 'anna')
    expect(decodeProtectedHeader(token).alg).toBe('ES256')
    expect((await verify(signer, token)).sub).toBe('anna')
  })

  test.each(['Ünï çødé', '東京', 'a'.repeat(1024), '{"sub":"ben"}', '*', '../..', 'a\nb'])(
    'has for subject exactly the owner %j',
    async (owner) => {
      const signer = await open()
      expect((await verify(signer, await signer.token(VAULT, owner))).sub).toBe(owner)
    },
  )

  test('is refused where the owner would make a header that no server takes', async () => {
    const signer = await open()
    await expect(signer.token(VAULT, 'a'.repeat(1025))).rejects.toMatchObject({ code: -32602 })
  })

  test('is given again, at once, until half of its life is over', async () => {
    const signer = await open()
    const first = await signer.token(VAULT, 'anna')
    clock.pass(2.5 * MINUTE - 1)
    expect(signer.token(VAULT, 'anna')).toBe(first)
    clock.pass(1)
    const second = await signer.token(VAULT, 'anna')
    expect(decodeJwt(second).exp).toBeGreaterThan(decodeJwt(first).exp ?? Infinity)
    expect(told).toEqual(['signed vault', 'signed vault'])
  })

  test('is signed once for all who need it at one time', async () => {
    const signer = await open()
    const tokens = await Promise.all(Array.from({ length: 20 }, () => signer.token(VAULT, 'anna')))
    expect(new Set(tokens).size).toBe(1)
    expect(told).toEqual(['signed vault'])
  })

  test('is of one owner and one upstream', async () => {
    const signer = await open()
    const shelf = { upstream: 'shelf', audience: 'shelf' }
    const tokens = await Promise.all([
      signer.token(VAULT, 'anna'),
      signer.token(VAULT, 'ben'),
      signer.token(shelf, 'anna'),
      signer.token({ upstream: 'hvault', audience: 'x' }, 'a'),
      signer.token({ upstream: 'vault', audience: 'x' }, 'ah'),
    ])
    const whom = tokens.map((token) => decodeJwt(token)).map(({ sub, aud }) => `${sub} at ${aud}`)
    expect(whom).toEqual([
      'anna at https://vault.internal',
      'ben at https://vault.internal',
      'anna at shelf',
      'a at x',
      'ah at x',
    ])
  })

  test('is made anew where the clock was put back, since it is not good yet by then', async () => {
    const signer = await open()
    const first = await signer.token(VAULT, 'anna')
    clock.pass(-60 * MINUTE)
    const second = await signer.token(VAULT, 'anna')
    expect(second).not.toBe(first)
    expect((await verify(signer, second)).iat).toBe(clock.now() / 1000)
  })
})

describe('keys', () => {
  test('are published with the next one, and without anything private', async () => {
    const signer = await open()
    const { keys } = JSON.parse(signer.published().body) as { keys: Record<string, string>[] }
    expect(keys).toHaveLength(2)
    for (const key of keys) {
      expect(Object.keys(key).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x'])
      expect(key).toMatchObject({ alg: 'EdDSA', crv: 'Ed25519', kty: 'OKP', use: 'sig' })
    }
    expect(signer.published().maxAge).toBe(300)
  })

  test('survive a restart', async () => {
    const before = await open()
    const after = await open()
    expect(keysIn(after)).toEqual(keysIn(before))
    expect((await verify(after, await before.token(VAULT, 'anna'))).sub).toBe('anna')
  })

  test('rotate when it is time: what was next signs, and was published all the while', async () => {
    const signer = await open()
    const [first, second] = keysIn(signer)
    const old = await signer.token(VAULT, 'anna')
    clock.pass(30 * DAY - 1)
    await signer.turn()
    expect(keysIn(signer)).toEqual([first, second])
    clock.pass(1)
    await Promise.all([signer.turn(), signer.turn(), signer.turn()])
    const [current, next, retired] = keysIn(signer)
    expect([current, retired]).toEqual([second, first])
    expect([first, second]).not.toContain(next)
    expect(decodeProtectedHeader(await signer.token(VAULT, 'ben')).kid).toBe(second)
    expect(decodeProtectedHeader(old).kid).toBe(first)
    expect(told.filter((what) => what === 'rotated')).toHaveLength(1)
  })

  test('that sign no more stay published until their last token has expired', async () => {
    const signer = await open()
    clock.pass(30 * DAY - 1)
    const last = await signer.token(VAULT, 'anna')
    clock.pass(1)
    await signer.turn()
    expect((await verify(signer, last)).sub).toBe('anna')
    clock.pass(10 * MINUTE - 1)
    await signer.turn()
    expect(keysIn(signer)).toHaveLength(3)
    clock.pass(1)
    await signer.turn()
    expect(keysIn(signer)).toHaveLength(2)
    expect(keysIn(await open())).toEqual(keysIn(signer))
  })

  test('rotate at a start that is late, once', async () => {
    const [, second] = keysIn(await open())
    clock.pass(365 * DAY)
    expect(keysIn(await open())[0]).toBe(second)
  })

  test('rotate though the clock was put back by years', async () => {
    clock.pass(10 * 365 * DAY)
    const signer = await open()
    const [, second] = keysIn(signer)
    clock.pass(-10 * 365 * DAY)
    await signer.turn()
    expect(keysIn(signer)[0]).toBe(second)
  })

  test('go over to another algorithm once everybody has read the new key', async () => {
    const before = await open()
    const [first] = keysIn(before)
    const signer = await open({ algorithm: 'ES256' })
    const [, wanted] = keysIn(signer)
    expect(decodeProtectedHeader(await signer.token(VAULT, 'anna'))).toMatchObject({ kid: first })
    clock.pass(10 * MINUTE)
    await signer.turn()
    const token = await signer.token(VAULT, 'anna')
    expect(decodeProtectedHeader(token)).toMatchObject({ alg: 'ES256', kid: wanted })
    expect((await verify(signer, token)).sub).toBe('anna')
  })

  test('are not made where somebody only looks', async () => {
    const signer = await open({ purpose: 'look' })
    expect(keysIn(signer)).toHaveLength(2)
    expect(signer.keys).toBe('unknown')
    expect(readdirSync(folder.path)).toEqual([])
    await open()
    clock.pass(60 * DAY)
    const text = readFileSync(path, 'utf8')
    const looking = await open({ purpose: 'look' })
    await looking.turn()
    expect(looking.keys).toBe('kept')
    expect(readFileSync(path, 'utf8')).toBe(text)
  })

  test('stay as they are while they cannot be kept, and rotate as soon as they can', async () => {
    const signer = await open()
    const before = keysIn(signer)
    clock.pass(30 * DAY)
    mkdirSync(`${path}.new`)
    await signer.turn()
    expect(keysIn(signer)).toEqual(before)
    expect(told).toEqual([expect.stringContaining('EISDIR')])
    folder.remove()
    mkdirSync(folder.path)
    await signer.turn()
    expect(keysIn(signer)[0]).toBe(before[1])
  })
})

test('keys that another gateway has put in the file are not overwritten', async () => {
  const signer = await open()
  const before = readFileSync(path, 'utf8')
  rmSync(path)
  await open()
  const theirs = readFileSync(path, 'utf8')
  expect(theirs).not.toBe(before)
  clock.pass(30 * DAY)
  await signer.turn()
  expect(readFileSync(path, 'utf8')).toBe(theirs)
  expect(told).toEqual([
    `${path} holds other keys than were read at the start: a data_dir is one gateway's`,
  ])
})

describe('the file of keys', () => {
  test('is its owner’s alone, and nothing is left beside it', async () => {
    await open()
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder.path)).toEqual(['signing-keys.json'])
  })

  test('is refused where others may read it, and is not mended in silence', async () => {
    await open()
    chmodSync(path, 0o640)
    await expect(open()).rejects.toThrow(`${path}: others may read or change the keys`)
    expect(statSync(path).mode & 0o777).toBe(0o640)
  })

  const ring = (): KeyRing & { version: number } => JSON.parse(readFileSync(path, 'utf8'))
  const spoilt: readonly (readonly [string, () => string])[] = [
    ['nothing', () => ''],
    ['half of it', () => readFileSync(path, 'utf8').slice(0, 200)],
    ['another version', () => JSON.stringify({ ...ring(), version: 2 })],
    ['no next key', () => JSON.stringify({ ...ring(), next: undefined })],
    ['a key of another algorithm', () => withCurrent({ algorithm: 'ES256' })],
    [
      'two halves of different keys',
      () => withCurrent({ jwk: { ...ring().current.jwk, x: ring().next.jwk.x } }),
    ],
    [
      'a private half that is none',
      () => withCurrent({ jwk: { ...ring().current.jwk, d: 'AAAA' } }),
    ],
  ]
  const withCurrent = (over: object): string =>
    JSON.stringify({ ...ring(), current: { ...ring().current, ...over } })

  test.each(spoilt)('with %s in it is refused, by name and with what to do', async (_, text) => {
    await open()
    writeFileSync(path, text())
    const problem = await open().catch((thrown: Error) => thrown.message)
    expect(problem).toMatch(`${path}: `)
    expect(problem).toMatch(/bring it back from a copy, or remove it/)
    expect(problem).not.toContain('"d"')
  })

  test('that is a folder is refused', async () => {
    mkdirSync(path, { mode: 0o700 })
    await expect(open()).rejects.toThrow(`${path}: is no file`)
  })
})

test('a warm token costs microseconds', async () => {
  const signer = await open()
  await signer.token(VAULT, 'anna')
  const calls = 20_000
  const began = performance.now()
  for (let call = 0; call < calls; call++) void signer.token(VAULT, 'anna')
  const each = ((performance.now() - began) * 1000) / calls
  expect(each).toBeLessThan(50)
})
