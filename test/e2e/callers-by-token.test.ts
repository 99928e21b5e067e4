import { createHmac } from 'node:crypto'
import { request } from 'node:http'
import { exportSPKI, importJWK } from 'jose'
import { expect, test } from 'vitest'
import { type Gateway, keyEntry, keyOf, startGateway } from '../support/gateway-under-test.js'
import { type Claimed, LocalIssuer, makeKey, signed } from '../support/issuer.js'
import { until } from '../support/waiting.js'

const ISS = 'https://id.example'
const ed = await makeKey('ed')
const rsa = await makeKey('rsa', 'RS256')

const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds
const claims = (rest: Claimed = {}): Claimed => ({
  iss: ISS,
  aud: 'a2m',
  sub: 'ann',
  exp: inSeconds(600),
  ...rest,
})

async function trusting(issuer: LocalIssuer, rest: object = {}): Promise<Gateway> {
  return await startGateway({
    log: { level: 'debug' },
    auth: {
      keys: [keyEntry('desk', '*')],
      jwt: [
        {
          issuer: ISS,
          audience: 'a2m',
          jwks_uri: issuer.url,
          algorithms: ['EdDSA', 'RS256'],
          cooldown: '1h',
          timeout: '20s',
          ...rest,
        },
      ],
    },
  })
}

const DESCRIBE = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'memory/describe', params: {} })

const status = async (gateway: Gateway, token: string): Promise<number> =>
  (await gateway.post(DESCRIBE, { key: token })).status

/** Everything that an answer says, but for when. */
function whole(gateway: Gateway, authorization: readonly string[]): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const sent = request(gateway.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    })
    if (authorization.length > 0) sent.setHeader('authorization', authorization)
    sent.on('error', reject)
    sent.on('response', async (response) => {
      const headers = response.rawHeaders.map((one, index) =>
        response.rawHeaders[index - 1] === 'Date' ? '' : one,
      )
      resolve({
        status: response.statusCode,
        headers,
        body: Buffer.concat(await response.toArray()).toString(),
      })
    })
    sent.end(DESCRIBE)
  })
}

test('a caller of an issuer has its own records, and what its token says is not in the log', async () => {
  const issuer = await LocalIssuer.start(ed, rsa)
  const gateway = await trusting(issuer)
  const [ann, ben] = await Promise.all([signed(claims(), ed), signed(claims({ sub: 'ben' }), rsa)])
  await gateway.remember({ content: 'the quay' }, { key: ann })
  expect(await gateway.contentsOf({}, { key: ann })).toEqual(['the quay'])
  expect(await gateway.contentsOf({}, { key: ben })).toEqual([])
  expect(await gateway.contentsOf({ owner: 'ann' }, { key: keyOf('desk') })).toEqual(['the quay'])
  expect(issuer.asked).toBe(1)
  await gateway.stop()
  for (const part of ann.split('.')) expect(gateway.program.stderr).not.toContain(part)
})

test('every refusal is the same, to the byte', async () => {
  const issuer = await LocalIssuer.start(ed, rsa)
  const gateway = await trusting(issuer)
  const good = await signed(claims(), ed)
  const [head, payload, signature = ''] = good.split('.')
  const publicKey = await importJWK(rsa.jwk, 'RS256')
  if (publicKey instanceof Uint8Array) throw new TypeError('a secret')
  const macHead = `${Buffer.from('{"alg":"HS256","kid":"rsa"}').toString('base64url')}.${payload}`
  const mac = createHmac('sha256', await exportSPKI(publicKey))
    .update(macHead)
    .digest('base64url')
  const none = (alg: string) =>
    `Bearer ${Buffer.from(JSON.stringify({ alg })).toString('base64url')}.${payload}.`
  const refused = [
    [],
    [''],
    ['Basic YTpi'],
    ['Bearer nonsense'],
    [`Bearer ${good}`, `Bearer ${good}`],
    [`Bearer ${keyOf('nobody')}`],
    [`Bearer ${good.slice(0, -2)}`],
    [`Bearer ${head}.${payload}.`],
    [`Bearer ${head}.${signature}.${payload}`],
    [none('none')],
    [none('None')],
    [`Bearer ${macHead}.${mac}`],
    [`Bearer ${await signed(claims({ exp: inSeconds(-600) }), ed)}`],
    [`Bearer ${await signed(claims({ nbf: inSeconds(600) }), ed)}`],
    [`Bearer ${await signed(claims({ aud: 'other' }), ed)}`],
    [`Bearer ${await signed(claims({ iss: 'https://evil.example' }), ed)}`],
    [`Bearer ${await signed(claims(), await makeKey('strange'))}`],
    [`Bearer ${await signed(claims({ sub: '*' }), ed)}`],
    [`Bearer ${await signed(claims({ padding: 'x'.repeat(7000) }), ed)}`],
  ]
  const answers = await Promise.all(refused.map((headers) => whole(gateway, headers)))
  expect(answers[0]).toMatchObject({
    status: 401,
    headers: expect.arrayContaining(['www-authenticate', 'Bearer']),
  })
  for (const answer of answers) expect(answer).toEqual(answers[0])
  expect(await status(gateway, good)).toBe(200)
})

test('skew, rotation and a storm of unknown keys, on the clock of this machine', async () => {
  const issuer = await LocalIssuer.start(ed)
  const gateway = await trusting(issuer)
  const at = async (rest: Claimed) => status(gateway, await signed(claims(rest), ed))
  expect(await at({ exp: inSeconds(-5) })).toBe(200)
  expect(await at({ nbf: inSeconds(5) })).toBe(200)
  expect(await at({ exp: inSeconds(-600) })).toBe(401)
  expect(await at({ nbf: inSeconds(600) })).toBe(401)
  const next = await makeKey('next')
  issuer.keys = [ed, next]
  expect(await status(gateway, await signed(claims(), next))).toBe(200)
  expect(issuer.asked).toBe(2)
  const strange = await makeKey('strange')
  const storm = Array.from({ length: 200 }, (_, index) => ({ ...strange, kid: `k${index}` }))
  const answers = await Promise.all(
    storm.map(async (key) => status(gateway, await signed(claims(), key))),
  )
  expect(new Set(answers)).toEqual(new Set([401]))
  expect(issuer.asked).toBe(3)
})

test('a key that its issuer takes back stops within the time that the configuration states', async () => {
  const issuer = await LocalIssuer.start(ed)
  const gateway = await trusting(issuer, { cache: '300ms' })
  const token = await signed(claims(), ed)
  expect(await status(gateway, token)).toBe(200)
  issuer.keys = [await makeKey('other')]
  await until(async () => (await status(gateway, token)) === 401)
})

test('an issuer that is slow or away: callers with keys do not wait, and its own come in once it is back', async () => {
  const issuer = await LocalIssuer.start(ed)
  issuer.instead = () => {}
  const gateway = await trusting(issuer, { cooldown: '100ms', timeout: '2s' })
  const token = await signed(claims(), ed)
  const waiting = status(gateway, token)
  const first = await Promise.race([waiting, status(gateway, keyOf('desk'))])
  expect(first).toBe(200)
  expect(await waiting).toBe(401)
  issuer.instead = undefined
  await until(async () => (await status(gateway, token)) === 200)
  expect(gateway.program.stderr).toContain('took over 2000 ms')
})

test('known keys are used on while the issuer is away', async () => {
  const issuer = await LocalIssuer.start(ed)
  const gateway = await trusting(issuer, { cache: '200ms', cooldown: '100ms' })
  const fresh = async () => status(gateway, await signed(claims({ jti: Math.random() }), ed))
  expect(await fresh()).toBe(200)
  issuer.stop()
  await until(async () => {
    expect(await fresh()).toBe(200)
    return gateway.program.stderr.includes('its last good one is used')
  })
  expect(await fresh()).toBe(200)
})
