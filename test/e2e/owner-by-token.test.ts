import { chmodSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createRemoteJWKSet } from 'jose'
import { describe, expect, onTestFinished, test } from 'vitest'
import { emptyFolder, run } from '../support/gateway-process.js'
import {
  type ConfigFile,
  configIn,
  type Gateway,
  keyEntry,
  keyOf,
  type Setup,
  startGateway,
} from '../support/gateway-under-test.js'
import { KeysRelay, keysOf } from '../support/keys-relay.js'
import { servedStore } from '../support/token-upstreams.js'
import { type Trust, VerifyingServer } from '../support/verifying-server.js'
import { until } from '../support/waiting.js'

const ISSUER = 'https://front.example'
const [anna, ben, root] = ['anna', 'ben', 'root'].map((name) => ({ key: keyOf(name) }))
const CALLERS = [keyEntry('anna'), keyEntry('ben'), keyEntry('root', '*')]
const TIERS = ['working', 'episodic', 'semantic']

/** A gateway that lets owners in by tokens of another, and that other one in front of it. */
async function gatewayBehindGateway(signing: object = {}, jwt: object = {}): Promise<Gateway> {
  const relay = await KeysRelay.start()
  const inner = await startGateway({
    name: 'inner',
    auth: {
      jwt: [
        {
          issuer: ISSUER,
          audience: 'inner',
          jwks_uri: relay.url,
          algorithms: ['EdDSA'],
          roles: ['gateway'],
          ...jwt,
        },
      ],
    },
  })
  const front = await startGateway({
    auth: { keys: CALLERS },
    signing: { issuer: ISSUER, ...signing },
    upstreams: { team: { url: inner.url, owner: 'token', audience: 'inner', timeout: '5s' } },
  })
  relay.gateway = front.url
  await front.up('team')
  return front
}

interface Verified {
  readonly front: Gateway
  readonly server: VerifyingServer
}

interface Verifying extends Setup {
  readonly trust?: Partial<Trust>
  /** What the upstream's entry says besides. */
  readonly upstream?: object
  readonly config?: ConfigFile
}

/** A gateway over a store that lets in whoever has one of its tokens. */
async function overVerifyingStore(options: Verifying = {}): Promise<Verified> {
  const { trust = {}, upstream = {}, config = {}, ...setup } = options
  let url = ''
  let remote: ReturnType<typeof createRemoteJWKSet> | undefined
  const server = await VerifyingServer.start(servedStore({ path: ':memory:', tiers: TIERS }), {
    issuer: ISSUER,
    audience: 'vault',
    keys(header, token) {
      remote ??= createRemoteJWKSet(keysOf(url))
      return remote(header, token)
    },
    ...trust,
  })
  onTestFinished(() => server.close())
  const front = await startGateway(frontOf(server, upstream, config), setup)
  url = front.url
  return { front, server }
}

function frontOf(server: VerifyingServer, upstream: object = {}, config: ConfigFile = {}) {
  return {
    auth: { keys: CALLERS },
    signing: { issuer: ISSUER },
    upstreams: {
      vault: { url: server.url, owner: 'token', audience: 'vault', refresh: '200ms', ...upstream },
    },
    ...config,
  }
}

async function keysOfGateway({ url }: Gateway): Promise<{ readonly kid: string }[]> {
  return ((await (await fetch(keysOf(url))).json()) as { keys: { kid: string }[] }).keys
}

describe('a gateway in front of a gateway', () => {
  test('keeps owners apart by its tokens alone, in every method', async () => {
    const front = await gatewayBehindGateway()
    const { capabilities } = await front.call('memory/describe', {}, anna)
    expect(capabilities).toContain('scopes')
    const records = [
      { content: 'the quay of anna', key: 'place', session: 's', tier: 'working' },
      { content: 'the crane of anna', group: 'g' },
    ]
    const { ids } = await front.call('memory/remember', { records }, anna)
    await front.remember({ content: 'the quay of ben', key: 'place' }, ben)
    const { records: found } = await front.call('memory/recall', { query: 'quay' }, anna)
    expect(found.map(({ content, owner }) => [content, owner])).toEqual([
      ['the quay of anna', 'anna'],
    ])
    const fetched = await front.call('memory/fetch', { key: 'place' }, ben)
    expect(fetched.record).toMatchObject({ content: 'the quay of ben', owner: 'ben' })
    expect(await front.call('memory/reinforce', { ids }, ben)).toEqual({ reinforced: 0 })
    expect(await front.call('memory/reinforce', { ids }, anna)).toEqual({ reinforced: 2 })
    const promoted = { ids: ids.slice(0, 1), tier: 'semantic' }
    expect(await front.call('memory/promote', promoted, ben)).toEqual({ promoted: 0 })
    expect(await front.call('memory/promote', promoted, anna)).toEqual({ promoted: 1 })
    expect((await front.call('memory/session/list', {}, anna)).sessions).toHaveLength(1)
    expect((await front.call('memory/session/list', {}, ben)).sessions).toHaveLength(0)
    await front.call('memory/session/close', { session: 's' }, anna)
    await front.call('memory/consolidate', {}, anna)
    expect((await front.call('memory/forget', { ids }, ben)).forgotten).toBe(0)
    expect((await front.call('memory/forget', { ids }, anna)).forgotten).toBe(2)
    expect(await front.contentsOf({}, ben)).toEqual(['the quay of ben'])
  })

  test('rotates its keys without one failed call', async () => {
    const front = await gatewayBehindGateway(
      { lifetime: '2s', rotate: '2s' },
      { cache: '1s', cooldown: '100ms' },
    )
    const before = (await keysOfGateway(front)).map(({ kid }) => kid)
    const failures: unknown[] = []
    let calls = 0
    const rotations = () => front.metric('a2m_signing_rotations_total{outcome="done"}')
    const twice = until(async () => calls >= 10 && (await rotations()) >= 2)
    let over = false
    const caller = async (who: { key: string } | undefined) => {
      while (!over) {
        calls++
        await front
          .remember({ content: `call ${calls}` }, who)
          .catch((thrown) => failures.push(thrown))
        await front.contentsOf({ limit: 1 }, who).catch((thrown) => failures.push(thrown))
      }
    }
    const callers = [caller(anna), caller(ben)]
    await twice.finally(() => {
      over = true
    })
    await Promise.all(callers)
    expect(failures).toEqual([])
    const after = (await keysOfGateway(front)).map(({ kid }) => kid)
    expect(after.slice(0, 2).filter((kid) => before.includes(kid))).toEqual([])
  })
})

describe('every ask', () => {
  test('carries a token of the owner that it is for', async () => {
    const { front, server } = await overVerifyingStore()
    await front.up('vault')
    await front.remember({ content: 'of anna' }, anna)
    await front.remember({ content: 'of ben', owner: 'ben' }, root)
    const records = ['anna', 'ben', 'carl', 'anna'].map((owner) => ({ content: 'of many', owner }))
    await front.call('memory/remember', { records }, root)
    expect((await front.contentsOf({ owner: 'anna' }, root)).length).toBe(3)
    expect(server.violations()).toEqual([])
    const subjects = new Set(server.seen.map(({ subject }) => subject))
    expect(subjects).toEqual(new Set([ISSUER, 'anna', 'ben', 'carl']))
    const own = server.seen.filter(({ subject }) => subject === ISSUER)
    for (const { method, params } of own) {
      expect([method, params['records'] ?? []]).toEqual([expect.anything(), []])
      expect(['memory/describe', 'memory/remember']).toContain(method)
    }
  })

  test('about everybody is a gap where there is no credential for that', async () => {
    const { front, server } = await overVerifyingStore()
    await front.up('vault')
    await front.remember({ content: 'of anna' }, anna)
    const asked = server.seen.length
    const error = await front.call('memory/recall', { query: 'anna' }, root).catch((one) => one)
    expect(error.data.federation.upstreams.vault.reason).toContain('none was named')
    await expect(front.remember({ content: 'nobody’s' }, root)).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('records[0].owner: name one'),
    })
    const named = await front.contentsOf({ owner: 'anna' }, root)
    expect(named).toEqual(['of anna'])
    const others = server.seen.slice(asked).filter(({ subject }) => subject !== ISSUER)
    expect(others.map(({ subject }) => subject)).toEqual(['anna'])
  })

  test('about everybody goes with the credential of the gateway where there is one', async () => {
    const rootKey = 'root-key-at-the-vault-0123456789'
    const { front, server } = await overVerifyingStore({
      trust: { rootKey, roles: ['gateway'] },
      upstream: { auth: { bearer: rootKey } },
    })
    await front.up('vault')
    await front.remember({ content: 'of anna' }, anna)
    await front.remember({ content: 'of ben' }, ben)
    await front.remember({ content: 'nobody’s' }, root)
    expect((await front.contentsOf({}, root)).toSorted()).toEqual(['nobody’s', 'of anna', 'of ben'])
    expect(await front.contentsOf({}, anna)).toEqual(['of anna'])
    expect(server.violations()).toEqual([])
  })
})

describe('the published keys', () => {
  test('are public halves alone, and may be kept for a while', async () => {
    const { front } = await overVerifyingStore()
    const reply = await fetch(keysOf(front.url))
    expect(reply.headers.get('cache-control')).toBe('public, max-age=300')
    expect(reply.headers.get('content-type')).toBe('application/json')
    const { keys } = (await reply.json()) as { keys: object[] }
    expect(keys).toHaveLength(2)
    for (const key of keys) {
      expect(Object.keys(key).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x'])
    }
  })

  test('are not there where nobody is shown a token', async () => {
    const gateway = await startGateway({})
    expect((await fetch(keysOf(gateway.url))).status).toBe(404)
  })

  test('are not for web pages of others', async () => {
    const { front } = await overVerifyingStore()
    const headers = { origin: 'https://evil.example' }
    expect((await fetch(keysOf(front.url), { headers })).status).toBe(403)
  })

  test('are the same after a restart, and in a file of the gateway’s own', async () => {
    const cwd = emptyFolder()
    const { front, server } = await overVerifyingStore({ cwd })
    const before = await keysOfGateway(front)
    expect(await front.stop()).toBe(0)
    expect(statSync(join(cwd, 'data/signing-keys.json')).mode & 0o777).toBe(0o600)
    const again = await startGateway(frontOf(server), { cwd })
    expect(await keysOfGateway(again)).toEqual(before)
  })
})

describe('a start', () => {
  test('ends with the file and what to do where others may read the keys', async () => {
    const cwd = emptyFolder()
    const { front, server } = await overVerifyingStore({ cwd })
    await front.stop()
    chmodSync(join(cwd, 'data/signing-keys.json'), 0o644)
    const { code, stderr } = await run(['serve', '--config', configIn(cwd, frontOf(server))], {
      cwd,
    })
    expect(code).not.toBe(0)
    expect(stderr).toMatch(/signing-keys\.json: others may read or change .*chmod 600/)
    expect(stderr).not.toMatch(/^\s+at /m)
  })
})

describe('an upstream that refuses the tokens', () => {
  test.each([401, 403])(
    'with %i is told of to operators, and the token to nobody',
    async (status) => {
      const { front, server } = await overVerifyingStore({ config: { log: { level: 'debug' } } })
      await front.up('vault')
      await front.remember({ content: 'of anna' }, anna)
      server.closedWith = status
      const error = await front.call('memory/recall', { query: 'x' }, anna).catch((one) => one)
      expect(error.data.federation.upstreams.vault.reason).toMatch(
        `status ${status}: it refused the token`,
      )
      await until(async () => (await front.upstream('vault')).state === 'down')
      const { reason } = await front.upstream('vault')
      expect(reason).toContain('has to trust this gateway as an issuer')
      await front.stop()
      const told = [JSON.stringify(error.data), error.message, reason, front.program.stderr].join(
        '\n',
      )
      expect(front.program.stderr).toContain('refused the token')
      expect(told).not.toContain('eyJ')
    },
  )

  test('is what check says of it, with whom it should trust', async () => {
    const cwd = emptyFolder()
    const { front, server } = await overVerifyingStore({ cwd })
    await front.up('vault')
    const config = configIn(cwd, frontOf(server))
    const well = await run(['check', '--config', config], { cwd })
    expect(well.stdout).toMatch(/^vault\s+up\s+a2m\/0\.1\s+yes\s+token/m)
    expect(well.code).toBe(0)
    server.closedWith = 401
    const refused = await run(['check', '--config', config], { cwd })
    expect(refused.code).toBe(1)
    expect(refused.stdout).toContain(
      `upstream vault is unread: the upstream answered with status 401: it refused the token`,
    )
    expect(refused.stdout).toContain(`issuer ${ISSUER}, audience vault`)
  })

  test('repeats what it was shown: nobody hears of it', async () => {
    const { front, server } = await overVerifyingStore({ config: { log: { level: 'debug' } } })
    await front.up('vault')
    server.echoing = true
    const write = await front.remember({ content: 'x' }, anna).catch((one) => one)
    const read = await front.call('memory/recall', { query: 'x' }, anna).catch((one) => one)
    const metrics = await front.metrics()
    const upstreams = JSON.stringify(await front.upstream('vault'))
    await front.stop()
    const [{ token } = { token: 'none' }] = server.seen.slice(-1)
    expect(token).toMatch(/^eyJ/)
    const told = [write, read].map(({ message, data }) => `${message} ${JSON.stringify(data)}`)
    expect(told[0]).toContain('[redacted]')
    const everything = [...told, metrics, upstreams, front.program.stderr].join('\n')
    expect(everything).not.toContain('eyJ')
    expect(everything).not.toContain(token.split('.')[2])
  })
})

test('check --probe tries an upstream by tokens of owners that nobody else has', async () => {
  const cwd = emptyFolder()
  const { front, server } = await overVerifyingStore({ cwd })
  await front.up('vault')
  const config = configIn(cwd, frontOf(server))
  const probed = await run(['check', '--config', config, '--probe', 'vault'], { cwd })
  expect(probed.stdout).toContain('All of it is true.')
  expect({ code: probed.code, said: probed.code === 0 ? '' : probed.stdout }).toEqual({
    code: 0,
    said: '',
  })
  expect(server.violations()).toEqual([])
})

test('check without the keys of a gateway says that there are none yet', async () => {
  const { server } = await overVerifyingStore()
  const cwd = emptyFolder()
  const checked = await run(['check', '--config', configIn(cwd, frontOf(server))], { cwd })
  expect(checked.code).toBe(1)
  expect(checked.stdout).toContain('there are no keys in data_dir yet')
  expect(() => readFileSync(join(cwd, 'data/signing-keys.json'))).toThrow('ENOENT')
})
