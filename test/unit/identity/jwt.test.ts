import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { exportSPKI, importJWK } from 'jose'
import { expect, onTestFinished, test } from 'vitest'
import type { Issuer } from '../../../src/identity/issuer.js'
import { type OpenIdentity, openIdentity } from '../../../src/identity/open.js'
import { HandClock } from '../../support/hand-clock.js'
import { type Claimed, type IssuerKey, LocalIssuer, makeKey, signed } from '../../support/issuer.js'

const ISS = 'https://id.example'
const keys = { ed: await makeKey('ed'), rsa: await makeKey('rsa', 'RS256') }
const MINUTE = 60

interface SetUp {
  readonly clock: HandClock
  readonly identity: OpenIdentity
  readonly refused: readonly string[]
  readonly failed: readonly string[]
  readonly who: (token: string) => Promise<string | undefined>
}

async function setUp(source: Issuer['keys'], rest: Partial<Issuer> = {}): Promise<SetUp> {
  const clock = new HandClock()
  const refused: string[] = []
  const failed: string[] = []
  const identity = await openIdentity({
    credentials: { keys: [], jwt: [issuer(source, rest)], mtls: undefined, leeway: 30_000 },
    accessOf: () => undefined,
    clock,
    events: {
      keySetRead: () => {},
      keySetFailed: (_, reason) => failed.push(reason),
      tokenRefused: (reason) => refused.push(reason),
      certificateRefused: () => {},
    },
  })
  const who = async (token: string): Promise<string | undefined> =>
    (await identity.authenticate({ authorization: [`Bearer ${token}`] }))?.name
  return { clock, identity, refused, failed, who }
}

function issuer(source: Issuer['keys'], rest: Partial<Issuer>): Issuer {
  return {
    issuer: ISS,
    audience: ['a2m', 'memory'],
    algorithms: ['EdDSA', 'RS256'],
    keys: source,
    ownerClaim: ['sub'],
    everyOwner: 'refused',
    nameClaim: ['sub'],
    rolesClaim: undefined,
    roles: [],
    prefix: '',
    cache: 600_000,
    stale: 3_600_000,
    cooldown: 30_000,
    timeout: 1000,
    ...rest,
  }
}

async function overHttp(rest?: Partial<Issuer>) {
  const server = await LocalIssuer.start(keys.ed, keys.rsa)
  const made = await setUp({ kind: 'uri', url: server.url }, rest)
  expect(await made.who(await signed(claims(), keys.ed))).toBe('ann')
  return { server, ...made }
}

/** Good claims at second `now`, for ten minutes. */
const claims = (rest: Claimed = {}, now = 1): Claimed => ({
  iss: ISS,
  aud: 'a2m',
  sub: 'ann',
  exp: now + 10 * MINUTE,
  ...rest,
})

const base64url = (value: unknown): string =>
  Buffer.from(JSON.stringify(value)).toString('base64url')

/** A token with a signature of one's own making. */
const forged = (header: unknown, payload: unknown, signature = ''): string =>
  `${base64url(header)}.${base64url(payload)}.${signature}`

test('a token of a trusted issuer is its subject, at once when it comes again', async () => {
  const { identity, who, server } = await overHttp()
  const token = await signed(claims(), keys.ed)
  expect(await who(token)).toBe('ann')
  expect(identity.authenticate({ authorization: [`Bearer ${token}`] })).toEqual({
    name: 'ann',
    roles: [],
    scope: { kind: 'owners', owners: ['ann'] },
  })
  expect(await who(await signed(claims({ sub: 'ben', aud: ['x', 'memory'] }), keys.rsa))).toBe(
    'ben',
  )
  expect(server.asked).toBe(1)
})

test.each<[string, Claimed]>([
  ['no audience', { aud: undefined }],
  ['another audience', { aud: 'a2m-other' }],
  ['no end', { exp: undefined }],
  ['an end that is no number', { exp: '999999' }],
  ['another issuer', { iss: 'https://id.example/' }],
  ['no issuer', { iss: undefined }],
  ['a beginning far ahead', { nbf: 1 + 10 * MINUTE }],
  ['an end long ago', { exp: 1 - 10 * MINUTE }],
  ['no owner', { sub: undefined }],
  ['every owner', { sub: '*' }],
])('%s: nobody', async (_, broken) => {
  const { who, refused } = await overHttp()
  expect(await who(await signed(claims(broken), keys.ed))).toBeUndefined()
  expect(refused).toHaveLength(1)
})

test.each<[string, Claimed]>([
  ['lacks the claim aud', { aud: undefined }],
  ['is for others', { aud: 'canary' }],
  ['is too early', { nbf: 1 + 10 * MINUTE }],
  ['lacks the claim exp', { exp: undefined }],
  ['has a claim exp that is no time', { exp: '999999' }],
  ['has a claim nbf that is no time', { nbf: 'canary' }],
  ['has expired', { exp: 1 - 10 * MINUTE }],
])('a token that %s is told as that, and nothing of what it holds', async (reason, broken) => {
  const { who, refused } = await overHttp()
  expect(await who(await signed(claims(broken), keys.ed))).toBeUndefined()
  expect(refused).toEqual([reason])
})

test('5 seconds of skew pass, either way, and 10 minutes do not', async () => {
  const { clock, who } = await overHttp()
  clock.pass(3_600_000)
  const now = 3601
  const at = (rest: Claimed) => signed(claims(rest, now), keys.ed).then(who)
  expect(await at({ exp: now - 5 })).toBe('ann')
  expect(await at({ nbf: now + 5 })).toBe('ann')
  expect(await at({ exp: now - 31 })).toBeUndefined()
  expect(await at({ nbf: now + 31 })).toBeUndefined()
  expect(await at({ exp: now - 600 })).toBeUndefined()
  expect(await at({ nbf: now + 600 })).toBeUndefined()
})

test('a token that was let in ends when it expires, and before it begins where the clock jumps back', async () => {
  const { clock, who } = await overHttp()
  clock.pass(99_000)
  const token = await signed(claims({ nbf: 100, exp: 200 }), keys.ed)
  expect(await who(token)).toBe('ann')
  clock.pass(129_999)
  expect(await who(token)).toBe('ann')
  clock.pass(1)
  expect(await who(token)).toBeUndefined()
  const early = await signed(claims({ nbf: 200, exp: 900 }), keys.ed)
  expect(await who(early)).toBe('ann')
  clock.pass(-100_000)
  expect(await who(early)).toBeUndefined()
})

test('a public key is no secret: HS256 with it, in whatever form, is nobody', async () => {
  const { who, server } = await overHttp()
  const publicKey = await importJWK(keys.rsa.jwk, 'RS256')
  if (publicKey instanceof Uint8Array) throw new TypeError('a secret')
  const pem = await exportSPKI(publicKey)
  for (const secret of [pem, pem.trim(), JSON.stringify(keys.rsa.jwk), String(keys.rsa.jwk.n)]) {
    for (const alg of ['HS256', 'hs256', 'RS256']) {
      const head = `${base64url({ alg, kid: 'rsa' })}.${base64url(claims())}`
      const mac = createHmac('sha256', secret).update(head).digest('base64url')
      expect(await who(`${head}.${mac}`)).toBeUndefined()
    }
  }
  expect(server.asked).toBe(1)
})

test.each(['none', 'None', 'NONE', 'nOnE', '', 'HS512', 'ES256', null, 1, ['EdDSA']])(
  'alg %j, which the issuer may not use: nobody, and nobody is asked for keys',
  async (alg) => {
    const { who, server } = await overHttp()
    const [, payload, signature] = (await signed(claims(), keys.ed)).split('.')
    const head = base64url({ alg, kid: 'ed' })
    expect(await who(`${head}.${payload}.${signature}`)).toBeUndefined()
    expect(await who(`${head}.${payload}.`)).toBeUndefined()
    expect(await who(`${head}.${payload}`)).toBeUndefined()
    expect(server.asked).toBe(1)
  },
)

test('a token cannot bring its own key, nor say where one is', async () => {
  const { who, server } = await overHttp()
  const own = await makeKey('ed')
  const evil = await LocalIssuer.start(own)
  const headers = [
    { jwk: own.jwk },
    { jku: evil.url },
    { x5u: evil.url },
    { x5c: ['MIIB'] },
    { jwk: own.jwk, jku: evil.url },
  ]
  for (const header of headers) {
    expect(await who(await signed(claims(), own, header))).toBeUndefined()
    expect(await who(await signed(claims(), { ...own, kid: 'mine' }, header))).toBeUndefined()
  }
  expect(evil.asked).toBe(0)
  expect(server.asked).toBe(2)
})

test('what a token demands to be understood and is not: nobody', async () => {
  const { who } = await overHttp()
  const [, payload, signature] = (await signed(claims(), keys.ed)).split('.')
  for (const crit of [['exp'], ['b64'], [], 'x', ['x']]) {
    const head = base64url({ alg: 'EdDSA', kid: 'ed', crit, x: 1, b64: false, exp: 1 })
    expect(await who(`${head}.${payload}.${signature}`)).toBeUndefined()
  }
})

test('a token of one issuer under the name of another: nobody', async () => {
  const { who } = await overHttp()
  const other = await makeKey('ed')
  expect(await who(await signed(claims(), other))).toBeUndefined()
  expect(
    await who(await signed(claims({ sub: 'root' }), { ...keys.rsa, kid: 'ed' })),
  ).toBeUndefined()
})

test('changed, cut, lengthened and oversized: nobody', async () => {
  const { who } = await overHttp()
  const token = await signed(claims(), keys.ed)
  const [head = '', payload = '', signature = ''] = token.split('.')
  const other = base64url(claims({ sub: 'root' }))
  const broken = [
    `${head}.${other}.${signature}`,
    `${head}.${payload}.${signature.slice(0, -4)}`,
    `${token}.${signature}`,
    `${head}..${signature}`,
    `.${payload}.${signature}`,
    '..',
    '.',
    'a.b.c',
    `${base64url([])}.${payload}.${signature}`,
    forged({ alg: 'EdDSA', kid: 'ed' }, 'x'),
    await signed(claims({ padding: 'x'.repeat(8192) }), keys.ed),
  ]
  for (const one of broken) expect(await who(one)).toBeUndefined()
  expect(await who(await signed(claims({ padding: 'x'.repeat(4096) }), keys.ed))).toBe('ann')
})

test('no text in the shape of a token makes a caller, or an error', async () => {
  const { who } = await overHttp()
  const part = fc.oneof(
    fc.base64String(),
    fc.jsonValue().map(base64url),
    fc.constantFrom(base64url({ alg: 'EdDSA', kid: 'ed' }), base64url(claims())),
  )
  await fc.assert(
    fc.asyncProperty(part, part, part, async (...parts) => {
      expect(await who(parts.join('.').replaceAll('=', ''))).toBeUndefined()
    }),
  )
})

test('a new key works at once; a removed one stops within the cache time, tokens that were let in included', async () => {
  const { clock, who, server } = await overHttp()
  const next = await makeKey('next')
  const old = await signed(claims({ exp: 9999 }), keys.ed)
  expect(await who(old)).toBe('ann')
  server.keys = [keys.ed, next]
  expect(await who(await signed(claims({ sub: 'ben', exp: 9999 }), next))).toBe('ben')
  server.keys = [next]
  clock.pass(600_000)
  expect(await who(old)).toBeUndefined()
  expect(await who(await signed(claims({ sub: 'ben', exp: 9999 }), next))).toBe('ben')
})

test('two hundred tokens of keys that nobody knows ask the issuer once in a cool-down', async () => {
  const { clock, who, server } = await overHttp()
  const strange = await makeKey('strange')
  const tokens = await Promise.all(
    Array.from({ length: 200 }, (_, index) => signed(claims(), { ...strange, kid: `k${index}` })),
  )
  const storm = () => Promise.all(tokens.map(who))
  const before = server.asked
  expect((await storm()).every((one) => one === undefined)).toBe(true)
  await storm()
  expect(server.asked - before).toBe(1)
  clock.pass(30_000)
  await storm()
  expect(server.asked - before).toBe(2)
})

test('a token without a kid is tried with the one key of its kind', async () => {
  const { who, server } = await overHttp()
  const noKid = { ...keys.ed, kid: undefined as unknown as string }
  expect(await who(await signed(claims(), noKid))).toBe('ann')
  server.keys = [keys.ed, await makeKey('ed2')]
  const { who: again } = await setUp({ kind: 'uri', url: server.url })
  expect(await again(await signed(claims(), noKid))).toBeUndefined()
})

const redirect =
  (status: number): LocalIssuer['instead'] =>
  (_, response) => {
    response.writeHead(status, { location: '/jwks.json' }).end()
  }

test.each<[string, LocalIssuer['instead'], RegExp]>([
  ['an error', (_, response) => response.writeHead(503).end('{}'), /^answered 503$/],
  ['a redirect', redirect(302), /^answered 302, and redirects are not followed$/],
  ['no JSON', (_, response) => response.end('<html>'), /^is not JSON$/],
  ['no key set', (_, response) => response.end('{"keys":[1]}'), /^is no JSON Web Key Set$/],
  [
    'too much',
    (_, response) => response.end(`"${'x'.repeat(300_000)}"`),
    /^is larger than 256 KiB$/,
  ],
  ['nothing, ever', () => {}, /^took over 200 ms$/],
  ['a beginning', (_, response) => response.write('{'), /^took over 200 ms$/],
  ['a hang-up', (_, response) => response.destroy(), /^cannot be reached \(/],
])(
  'an issuer that answers %s: its tokens are refused until it is well',
  async (_, instead, reason) => {
    const server = await LocalIssuer.start(keys.ed)
    server.instead = instead
    const { clock, who, failed, refused } = await setUp(
      { kind: 'uri', url: server.url },
      { timeout: 200 },
    )
    const token = await signed(claims(), keys.ed)
    expect(await who(token)).toBeUndefined()
    expect(failed).toEqual([expect.stringMatching(reason)])
    expect(refused).toEqual([`cannot be checked: the key set ${failed[0]}`])
    server.instead = undefined
    clock.pass(1000)
    expect(await who(token)).toBe('ann')
  },
)

test('an issuer that is gone leaves its last good keys in use for the stated time', async () => {
  const { clock, who, server } = await overHttp()
  const token = (exp: number) => signed(claims({ exp }), keys.ed)
  expect(await who(await token(9999))).toBe('ann')
  server.stop()
  clock.pass(600_000)
  expect(await who(await token(9998))).toBe('ann')
  clock.pass(3_599_999)
  expect(await who(await token(9997))).toBe('ann')
  clock.pass(1)
  expect(await who(await token(9996))).toBeUndefined()
})

function keyFile(...holds: IssuerKey[]): { readonly path: string; write(text: string): void } {
  const folder = mkdtempSync(join(tmpdir(), 'a2m-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'jwks.json')
  const write = (text: string): void => writeFileSync(path, text)
  write(JSON.stringify({ keys: holds.map(({ jwk }) => jwk) }))
  return { path, write }
}

test('keys in a file are read again when it changes; a broken one leaves the last good ones in use', async () => {
  const file = keyFile(keys.ed)
  const { clock, who } = await setUp({ kind: 'file', path: file.path }, { cache: 1000 })
  const old = await signed(claims(), keys.ed)
  const token = await signed(claims({ sub: 'ben' }), keys.rsa)
  expect(await who(old)).toBe('ann')
  expect(await who(token)).toBeUndefined()
  file.write(JSON.stringify({ keys: [keys.rsa.jwk] }))
  clock.pass(1000)
  expect(await who(token)).toBe('ben')
  expect(await who(old)).toBeUndefined()
  file.write('{')
  clock.pass(5000)
  expect(await who(token)).toBe('ben')
})

test('a file that is missing, or holds no keys, is an error from the start', async () => {
  const missing = setUp({ kind: 'file', path: '/nowhere/jwks.json' })
  await expect(missing).rejects.toThrow('/nowhere/jwks.json cannot be read (ENOENT)')
  const { path, write } = keyFile()
  write('[]')
  await expect(setUp({ kind: 'file', path })).rejects.toThrow(`${path} is no JSON Web Key Set`)
})
