import { connect } from 'node:tls'
import { expect, test } from 'vitest'
import { Authority } from '../support/certificates.js'
import { emptyFolder, fileIn } from '../support/gateway-process.js'
import {
  type ConfigFile,
  configIn,
  type Gateway,
  keyEntry,
  keyOf,
  startGateway,
} from '../support/gateway-under-test.js'
import { HttpsCaller } from '../support/https-caller.js'
import { LocalIssuer, makeKey, signed } from '../support/issuer.js'
import { until } from '../support/waiting.js'

const LOUD = { log: { level: 'info' } }

/** Replaces the configuration and resolves once the log has said so, `times` in all. */
class Reloading {
  readonly #gateway: Gateway
  readonly #folder: string
  #reloads = 0
  #refusals = 0

  constructor(gateway: Gateway, folder: string) {
    this.#gateway = gateway
    this.#folder = folder
  }

  async to(config: ConfigFile): Promise<void> {
    configIn(this.#folder, { ...LOUD, ...config })
    this.#reloads++
    await this.#signal('"msg":"reloaded"', this.#reloads)
  }

  /** Tells why it was not taken. */
  async toText(text: string): Promise<string> {
    fileIn(this.#folder, 'gateway.yaml', text)
    return this.refused()
  }

  async refused(): Promise<string> {
    this.#refusals++
    await this.#signal('not reloaded', this.#refusals)
    const line = this.#gateway.program.stderr
      .split('\n')
      .findLast((one) => one.includes('not reloaded'))
    return String(JSON.parse(line ?? '{}').reason)
  }

  async #signal(said: string, times: number): Promise<void> {
    this.#gateway.program.child.kill('SIGHUP')
    await until(() => this.#gateway.program.stderr.split(said).length - 1 === times)
  }
}

async function started(config: ConfigFile) {
  const folder = emptyFolder()
  const gateway = await startGateway({ ...LOUD, ...config }, { cwd: folder })
  return { folder, gateway, reload: new Reloading(gateway, folder) }
}

const DESCRIBE = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'memory/describe', params: {} })
const status = async (gateway: Gateway, key: string): Promise<number> =>
  (await gateway.post(DESCRIBE, { key })).status

test('keys come and go under load, and no call fails', async () => {
  const auth = (...names: string[]) => ({ auth: { keys: names.map((name) => keyEntry(name)) } })
  const { gateway, reload } = await started(auth('steady', 'old'))
  let ending = false
  let calls = 0
  const load = Array.from({ length: 8 }, async () => {
    while (!ending) {
      await gateway.remember({ content: `note ${calls++}.` }, { key: keyOf('steady') })
    }
  })
  await until(() => calls > 20)
  await reload.to(auth('steady', 'old', 'new'))
  expect(await status(gateway, keyOf('new'))).toBe(200)
  expect(await status(gateway, keyOf('old'))).toBe(200)
  await reload.to(auth('steady', 'new'))
  expect(await status(gateway, keyOf('old'))).toBe(401)
  const before = calls
  await until(() => calls > before + 20)
  ending = true
  await Promise.all(load)
  const kept = await gateway.contentsOf({}, { key: keyOf('steady') })
  expect(kept.length).toBe(calls)
})

test('a bad file keeps the old configuration, and the log says why', async () => {
  const { gateway, reload, folder } = await started({ auth: { keys: [keyEntry('a')] } })
  expect(await reload.toText('auth: {')).toMatch(/^gateway.yaml: not valid YAML/)
  expect(await reload.toText('auth: { keyz: [] }')).toBe(
    'gateway.yaml: auth.keyz: unknown key; did you mean keys?',
  )
  expect(await reload.toText('listen: { host: 127.0.0.1 }')).toBe(
    'auth: comes or goes only with a restart',
  )
  configIn(folder, {
    auth: { jwt: [{ issuer: 'i', audience: 'a', algorithms: ['EdDSA'], jwks_file: 'none.json' }] },
  })
  expect(await reload.refused()).toBe(
    `auth.jwt[0].jwks_file: ${folder}/none.json cannot be read (ENOENT)`,
  )
  expect(await status(gateway, keyOf('a'))).toBe(200)
  await reload.to({ auth: { keys: [keyEntry('b')] } })
  expect(await status(gateway, keyOf('a'))).toBe(401)
  expect(await status(gateway, keyOf('b'))).toBe(200)
})

test('what counts only after a restart is said', async () => {
  const auth = { keys: [keyEntry('a')] }
  const { gateway, reload } = await started({ auth })
  await reload.to({ auth, recall: { limit: 3 }, limits: { request_timeout: '9s' } })
  const restart = await gateway.program.told(/"restart":(\[[^\]]*\])/)
  expect(JSON.parse(restart)).toEqual(['limits', 'upstreams, tiers or recall'])
})

test('issuers come and go, and the keys of one that stays are not read again', async () => {
  const [first, second] = [await makeKey('first'), await makeKey('second')]
  const stays = await LocalIssuer.start(first)
  const comes = await LocalIssuer.start(second)
  const entry = (issuer: string, { url }: LocalIssuer) => ({
    issuer,
    audience: 'a2m',
    algorithms: ['EdDSA'],
    jwks_uri: url,
  })
  const { gateway, reload } = await started({ auth: { jwt: [entry('stays', stays)] } })
  const token = (iss: string, key: typeof first) =>
    signed({ iss, aud: 'a2m', sub: 'ann', exp: Math.floor(Date.now() / 1000) + 600 }, key)
  expect(await status(gateway, await token('stays', first))).toBe(200)
  expect(await status(gateway, await token('comes', second))).toBe(401)
  stays.instead = (_, response) => response.destroy()
  await reload.to({ auth: { jwt: [entry('comes', comes), entry('stays', stays)] } })
  expect(await status(gateway, await token('comes', second))).toBe(200)
  expect(await status(gateway, await token('stays', first))).toBe(200)
  expect(stays.asked).toBe(1)
})

test('certificates are replaced while connections stay; with other authorities they have to be made again', async () => {
  const folder = emptyFolder()
  const [ours, theirs] = [new Authority(folder, 'ours'), new Authority(folder, 'theirs')]
  const server = (name: string) => ours.issue({ name, alternatives: ['DNS:localhost'] })
  const [first, second] = [server('first'), server('second')]
  const config = ({ certFile, keyFile }: typeof first, { certFile: ca }: Authority) => ({
    listen: { port: 0, tls: { cert: certFile, key: keyFile, ca } },
    auth: { mtls: { owner: 'common_name' } },
  })
  const { gateway, reload } = await started(config(first, ours))
  const caller = (authority: Authority) => {
    const { cert, key } = authority.issue({ name: 'ann' })
    return new HttpsCaller(gateway.url, { ca: ours.cert, cert, key })
  }
  const [ann, other] = [caller(ours), caller(theirs)]
  const called = async (one: HttpsCaller) => (await one.call('memory/describe')).status
  expect([await called(ann), await called(other)]).toEqual([200, 401])
  expect(await subject(gateway.url, ours.cert)).toBe('first')
  await reload.to(config(second, ours))
  expect(await subject(gateway.url, ours.cert)).toBe('second')
  expect(await called(ann)).toBe(200)
  expect(ann.connections).toBe(1)
  await reload.to(config(second, theirs))
  expect(await called(caller(ours))).toBe(401)
  expect(await called(caller(theirs))).toBe(200)
  await until(async () => (await called(ann)) === 401)
  expect(ann.connections).toBeGreaterThan(1)
})

/** Whom a listener says that it is. */
function subject(url: string, ca: string): Promise<unknown> {
  const { port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect({ port: Number(port), host: '127.0.0.1', servername: 'localhost', ca })
    socket.on('error', reject)
    socket.on('secureConnect', () => {
      resolve(socket.getPeerCertificate().subject.CN)
      socket.destroy()
    })
  })
}
