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

function start(made: World, rest: object = {}): Promise<Gateway> {
  return startGateway(
    {
      listen: { port: 0, tls: tlsOf(made) },
      auth: {
        keys: [keyEntry('desk')],
        mtls: { owner: 'san_uri', strip: 'spiffe://acme.example/agent/', roles: ['agent'] },
        ...rest,
      },
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
