import { connect } from 'node:tls'
import { expect, test } from 'vitest'
import { Authority, type Pair } from '../support/certificates.js'
import { emptyFolder, run } from '../support/gateway-process.js'
import {
  configIn,
  type Gateway,
  keyEntry,
  keyOf,
  startGateway,
} from '../support/gateway-under-test.js'
import { HttpsCaller } from '../support/https-caller.js'

const OURS = 'URI:spiffe://acme.example/agent/'

interface World {
  readonly folder: string
  readonly authority: Authority
  readonly server: Pair
}

function world(): World {
  const folder = emptyFolder()
  const authority = new Authority(folder, 'ours')
  const server = authority.issue({
    name: 'gateway',
    alternatives: ['DNS:localhost', 'IP:127.0.0.1'],
  })
  return { folder, authority, server }
}

const tlsOf = ({ server, authority }: World) => ({
  cert: server.certFile,
  key: server.keyFile,
  ca: authority.certFile,
})

function start(made: World, rest: object = {}, more: object = {}): Promise<Gateway> {
  return startGateway(
    {
      listen: { port: 0, tls: tlsOf(made) },
      auth: {
        keys: [keyEntry('desk')],
        mtls: { owner: 'san_uri', strip: 'spiffe://acme.example/agent/', roles: ['agent'] },
        ...rest,
      },
      ...more,
    },
    { cwd: made.folder },
  )
}

test('a caller with a certificate of ours has its own records; everyone else gets the same 401', async () => {
  const made = world()
  const { authority, folder } = made
  const gateway = await start(made)
  expect(gateway.url).toMatch(/^https:/)
  const caller = (showing: Partial<Pair> = {}) => {
    const { cert, key } = showing
    const own = cert === undefined || key === undefined ? {} : { cert, key }
    return new HttpsCaller(gateway.url, { ca: authority.cert, ...own })
  }
  const ann = caller(authority.issue({ name: 'x', alternatives: [`${OURS}ann`] }))
  const ben = caller(authority.issue({ name: 'x', alternatives: [`${OURS}ben`] }))
  await ann.call('memory/remember', { records: [{ content: 'the quay' }] })
  expect((await ann.call('memory/timeline')).body).toContain('the quay')
  expect((await ben.call('memory/timeline')).body).not.toContain('the quay')
  const others = new Authority(folder, 'theirs')
  const nobody = [
    caller(),
    caller(others.issue({ name: 'x', alternatives: [`${OURS}ann`] })),
    caller(authority.issue({ name: 'x', alternatives: [`${OURS}ann`], days: -1 })),
    caller(authority.issue({ name: 'x' })),
    caller(authority.issue({ name: 'x', alternatives: [`${OURS}ann`, `${OURS}ben`] })),
    caller(authority.issue({ name: 'x', alternatives: ['URI:spiffe://evil.example/agent/ann'] })),
    caller(authority.issue({ name: 'x', alternatives: [`DNS:a, ${OURS}ann`] })),
  ]
  const answers = await Promise.all(nobody.map((one) => one.call('memory/describe')))
  expect(answers[0]?.status).toBe(401)
  for (const answer of answers) expect(answer).toEqual(answers[0])
})

test('the log says at debug why a certificate is nobody’s, by common names alone', async () => {
  const made = world()
  const { authority, folder } = made
  const gateway = await start(made, {}, { log: { level: 'debug' } })
  const show = async ({ cert, key }: Pair) => {
    const caller = new HttpsCaller(gateway.url, { ca: authority.cert, cert, key })
    expect((await caller.call('memory/describe')).status).toBe(401)
  }
  const others = new Authority(folder, 'theirs')
  await show(others.issue({ name: 'stranger', alternatives: ['URI:spiffe://canary'] }))
  await show(authority.issue({ name: 'late', days: -1 }))
  await show(authority.issue({ name: 'ownerless', alternatives: ['DNS:canary'] }))
  await show(authority.issue({ name: 'twisted', alternatives: [`DNS:canary, ${OURS}ann`] }))
  await new HttpsCaller(gateway.url, { ca: authority.cert }).call('memory/describe')
  await gateway.stop()
  const { stderr } = gateway.program
  const lines = stderr.split('\n').filter((line) => line.includes('refused a certificate'))
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({
      reason: expect.stringMatching(/^is not vouched for: [A-Z_]+$/),
      subject: 'stranger',
      issuer: 'theirs',
    }),
    expect.objectContaining({ reason: 'is not vouched for: CERT_HAS_EXPIRED', subject: 'late' }),
    expect.objectContaining({
      reason: 'names no owner: it has no san_uri',
      subject: 'ownerless',
      issuer: 'ours',
    }),
    expect.objectContaining({
      reason: expect.stringMatching(/^(has alternative names that|names no owner)/),
      subject: 'twisted',
    }),
  ])
  expect(stderr).not.toContain('canary')
})

test('a bearer credential counts before the certificate, for good and for ill', async () => {
  const made = world()
  const gateway = await start(made)
  const { cert, key } = made.authority.issue({ name: 'x', alternatives: [`${OURS}ann`] })
  const ann = new HttpsCaller(gateway.url, { ca: made.authority.cert, cert, key })
  const record = { records: [{ content: 'of the desk' }] }
  await ann.call('memory/remember', record, `Bearer ${keyOf('desk')}`)
  expect((await ann.call('memory/timeline')).body).not.toContain('of the desk')
  expect((await ann.call('memory/describe', {}, 'Bearer nonsense')).status).toBe(401)
  expect((await ann.call('memory/describe')).status).toBe(200)
  expect(ann.connections).toBe(1)
})

test('the owner may be the common name', async () => {
  const made = world()
  const gateway = await start(made, { mtls: { owner: 'common_name' } })
  const { cert, key } = made.authority.issue({ name: 'ann' })
  const ann = new HttpsCaller(gateway.url, { ca: made.authority.cert, cert, key })
  expect((await ann.call('memory/remember', { records: [{ content: 'a' }] })).status).toBe(200)
})

test('what is older than the configuration allows does not connect, and plain HTTP is turned away', async () => {
  const made = world()
  const gateway = await startGateway(
    { listen: { port: 0, tls: { ...tlsOf(made), ca: undefined, min_version: '1.3' } } },
    { cwd: made.folder },
  )
  const { port } = new URL(gateway.url)
  const old = connect({
    port: Number(port),
    host: '127.0.0.1',
    ca: made.authority.cert,
    maxVersion: 'TLSv1.2',
  })
  await expect(
    new Promise((resolve, reject) => old.on('secureConnect', resolve).on('error', reject)),
  ).rejects.toThrow()
  await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow()
  const caller = new HttpsCaller(gateway.url, { ca: made.authority.cert })
  expect((await caller.call('memory/describe')).status).toBe(200)
})

test('files that cannot be used keep it from starting, and are named', async () => {
  const made = world()
  const other = made.authority.issue({ name: 'other' })
  const { certFile, keyFile } = made.server
  const problem = async (tls: object): Promise<string> => {
    const file = configIn(made.folder, { listen: { port: 0, tls } })
    const { code, stderr } = await run(['serve', '--config', file], { cwd: made.folder })
    expect(code).toBe(2)
    return stderr.trim().replace('a2m-gateway: ', '')
  }
  expect(await problem({ cert: 'none.pem', key: keyFile })).toBe(
    `listen.tls.cert: ${made.folder}/none.pem is not there`,
  )
  expect(await problem({ cert: certFile, key: other.keyFile })).toBe(
    `listen.tls.key: ${other.keyFile} is not the key of the certificate in ${certFile}`,
  )
  expect(await problem({ cert: keyFile, key: keyFile })).toBe(
    `listen.tls.cert: ${keyFile} holds no certificate in PEM`,
  )
  expect(await problem({ cert: certFile, key: certFile })).toBe(
    `listen.tls.key: ${certFile} holds no private key in PEM`,
  )
})

test('`call` shows a certificate, and says what to do where it does not know the authority', async () => {
  const made = world()
  const gateway = await start(made)
  const { certFile, keyFile } = made.authority.issue({
    name: 'ann',
    alternatives: [`${OURS}ann`],
  })
  const call = (...args: readonly string[]) =>
    run(['call', 'describe', '--url', gateway.url, ...args], { cwd: made.folder })
  const ca = ['--ca', made.authority.certFile]
  const known = await call(...ca, '--cert', certFile, '--key', keyFile)
  expect(known).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(known.stdout)).toMatchObject({ protocol: 'a2m/0.1' })

  const nobody = await call(...ca)
  expect(nobody).toMatchObject({ code: 1, stderr: expect.stringContaining('a valid credential') })
  const stranger = await call('--token', keyOf('desk'))
  expect(stranger).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('NODE_EXTRA_CA_CERTS=ca.pem'),
  })
  const others = await call(...ca, '--cert', certFile, '--key', made.server.keyFile)
  expect(others).toMatchObject({ code: 2, stderr: expect.stringContaining('--cert, --key, --ca') })
})
