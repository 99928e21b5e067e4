import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { MAIN } from '../support/gateway-process.js'
import { type Gateway, keyEntry, keyOf, startGateway } from '../support/gateway-under-test.js'
import { BEHAVIOURS } from '../support/http-behaviours.js'
import { meets } from '../support/meets.js'
import type { PlainOptions } from '../support/plain-memory.js'
import { PlainServer } from '../support/plain-server.js'

const FULL = ['core', 'scopes']
const BEARER = 'bearer-of-the-gateway'
const KEYS = [keyEntry('anna'), keyEntry('ben'), keyEntry('root', '*')]
const [anna, ben, root] = ['anna', 'ben', 'root'].map((name) => ({ key: keyOf(name) }))

/** A gateway that knows anna, ben and one who may act for all, over an upstream that is reached over HTTP. */
async function overHttp(
  options: PlainOptions = {},
  auth: object = {},
): Promise<{ readonly gateway: Gateway; readonly server: PlainServer }> {
  const server = await PlainServer.start({ capabilities: FULL, ...options })
  const gateway = await startGateway({
    auth: { keys: KEYS, ...auth },
    upstreams: { web: { url: server.url, auth: { bearer: BEARER } } },
    tiers: { notes: { upstream: 'web' } },
  })
  await gateway.up('web')
  return { gateway, server }
}

test('two hundred calls at once, all with id 1: each caller gets its own', async () => {
  const names = Array.from({ length: 50 }, (_, index) => `caller-${index}`)
  const gateway = await startGateway({ auth: { keys: names.map((name) => keyEntry(name)) } })
  await Promise.all(
    names.map((name) => gateway.remember({ content: `note of ${name}.` }, { key: keyOf(name) })),
  )
  const calls = [...names, ...names, ...names, ...names]
  const answers = await Promise.all(
    calls.map((name) => gateway.call('memory/recall', { query: 'note' }, { key: keyOf(name) })),
  )
  expect(answers.map(({ records }) => records.map(({ content }) => content))).toEqual(
    calls.map((name) => [`note of ${name}.`]),
  )
})

test('nothing of a caller but its owner goes upstream, and the gateway shows its own key', async () => {
  const { gateway, server } = await overHttp()
  const headers = {
    cookie: 'session=caller-canary',
    'x-api-key': 'caller-canary',
    'user-agent': 'caller-canary',
    'x-forwarded-for': '10.9.8.7',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  }
  await gateway.remember({ content: 'the quay' }, { ...anna, headers })
  await gateway.call('memory/recall', { query: 'quay' }, { ...anna, headers })
  const allowed = ['host', 'connection', 'content-type', 'accept', 'a2m-protocol-version']
  for (const { rawHeaders, method } of server.requests) {
    const sent = new Map(
      rawHeaders.flatMap((name, index) =>
        index % 2 === 0 ? [[name.toLowerCase(), rawHeaders[index + 1] ?? ''] as const] : [],
      ),
    )
    expect(sent.get('authorization')).toBe(`Bearer ${BEARER}`)
    for (const name of [...allowed, 'authorization', 'content-length']) sent.delete(name)
    expect([method, [...sent]]).toEqual([method, []])
  }
  const everything = JSON.stringify(server.requests)
  for (const canary of ['caller-canary', keyOf('anna'), '10.9.8.7', '0af7651916cd43dd']) {
    expect(everything).not.toContain(canary)
  }
  expect(server.memory.records).toMatchObject([{ content: 'the quay', owner: 'anna' }])
})

describe('the owner of another', () => {
  const entry = { content: 'planted' }
  const CALLS = [
    ['memory/recall', { owner: 'ben' }],
    ['memory/recall', { where: { owner: 'ben' } }],
    ['memory/timeline', { owner: 'ben' }],
    ['memory/timeline', { where: { owner: ['anna', 'ben'] } }],
    ['memory/describe', { owner: 'ben' }],
    ['memory/forget', { owner: 'ben', where: { role: 'user' } }],
    ['memory/forget', { where: { owner: 'ben' } }],
    ['memory/remember', { owner: 'ben', records: [entry] }],
    ['memory/remember', { records: [{ ...entry, owner: 'ben' }] }],
    ['memory/remember', { owner: 'anna', records: [entry, { ...entry, owner: 'ben' }] }],
  ] as const

  test(`is refused in params, in where and in records, and nothing happens ${meets('6/disagreeing', '7/scope-denied')}`, async () => {
    const { gateway, server } = await overHttp()
    await gateway.remember({ content: 'of ben', role: 'user' }, ben)
    const before = server.requests.length
    for (const [method, params] of CALLS) {
      await expect(gateway.call(method, params, anna)).rejects.toMatchObject({ code: -32005 })
    }
    expect(server.requests).toHaveLength(before)
    expect(server.contents).toEqual(['of ben'])
  })

  test(`is passed over with owner_mismatch: ignore ${meets('6/disagreeing')}`, async () => {
    const { gateway, server } = await overHttp({}, { owner_mismatch: 'ignore' })
    await gateway.remember({ content: 'of ben' }, ben)
    await gateway.call('memory/remember', { owner: 'ben', records: [entry] }, anna)
    await gateway.remember({ content: 'planted too', owner: 'ben' }, anna)
    expect(server.memory.records.map(({ owner }) => owner)).toEqual(['ben', 'anna', 'anna'])
    expect(await gateway.contentsOf({ owner: 'ben' }, anna)).toEqual(['planted', 'planted too'])
    expect(await gateway.contentsOf({ where: { owner: 'ben' } }, anna)).toEqual([])
    await gateway.call('memory/forget', { owner: 'ben', where: { owner: 'ben' } }, anna)
    expect(server.contents).toHaveLength(3)
  })

  test('is named by a key for all', async () => {
    const { gateway, server } = await overHttp()
    await gateway.remember({ content: 'of ben', owner: 'ben' }, root)
    await gateway.remember({ content: 'of anna' }, anna)
    expect(await gateway.contentsOf({ owner: 'ben' }, root)).toEqual(['of ben'])
    expect((await gateway.contentsOf({}, root)).sort()).toEqual(['of anna', 'of ben'])
    await gateway.call('memory/forget', { owner: 'ben', where: { content: 'of ben' } }, root)
    expect(server.contents).toEqual(['of anna'])
  })
})

test('records of others that an upstream gives out are dropped and counted', async () => {
  const { gateway } = await overHttp({ faults: ['ignores-owner'] })
  await gateway.remember({ content: 'note of anna' }, anna)
  await gateway.remember({ content: 'note of ben' }, ben)
  const { records, federation } = await gateway.call('memory/recall', { query: 'note' }, anna)
  expect(records).toMatchObject([{ content: 'note of anna', owner: 'anna' }])
  expect(federation?.upstreams['web']).toMatchObject({ state: 'ok', count: 1 })
  expect(await gateway.contentsOf({}, ben)).toEqual(['note of ben'])
  expect(await gateway.metric('a2m_foreign_records_total{upstream="web"}')).toBe(2)
})

test(`without a key that is known: 401 before anything else ${meets('8.3/authenticated')}`, async () => {
  const credentials = {
    'another key': 'Bearer nobody-has-this',
    'a key with a letter less': `Bearer ${keyOf('anna').slice(0, -1)}`,
    'the digest of a key': `Bearer ${Object(KEYS[0]).sha256}`,
    'another scheme': `Basic ${keyOf('anna')}`,
    'an empty one': 'Bearer ',
  }
  const { gateway, server } = await overHttp()
  const before = server.requests.length
  const shown = Object.entries(credentials).map(([what, authorization]) => ({
    what,
    authorization,
  }))
  for (const { what, ...credential } of [{ what: 'none' }, ...shown]) {
    const wrong = { 'a2m-protocol-version': 'a2m/9.9', 'content-type': 'text/plain' }
    for (const headers of [credential, { ...credential, ...wrong }]) {
      const response = await gateway.post('no JSON', { headers })
      expect([what, response.status]).toEqual([what, 401])
      expect(response.headers.get('www-authenticate')).toMatch(/^Bearer/)
    }
  }
  expect(server.requests).toHaveLength(before)
  expect(await gateway.metric('a2m_refusals_total{status="401"}')).toBe(12)
})

/** The environment of every process that a process has started. */
function environmentsBelow(pid: number | undefined): string[] {
  const tasks = readdirSync(`/proc/${pid}/task`)
  const children = tasks.flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
  )
  return children.map((child) => readFileSync(`/proc/${child}/environ`, 'utf8'))
}

test.runIf(process.platform === 'linux')(
  'secrets are with those alone who were given them',
  async () => {
    const env = {
      WEB_TOKEN: 'canary-for-web',
      GIVEN: 'canary-for-child',
      OTHER: 'canary-for-nobody',
    }
    const web = await PlainServer.start({ capabilities: FULL })
    const config = {
      log: { level: 'debug' },
      auth: { keys: KEYS },
      upstreams: {
        web: { url: web.url, auth: { bearer: '$' + '{WEB_TOKEN}' }, retries: 0 },
        child: {
          command: [process.execPath, MAIN, 'store', '--stdio', '--path', 'child.db'],
          env: { GIVEN: '$' + '{GIVEN}' },
        },
      },
      tiers: { notes: { upstream: 'web' }, semantic: { upstream: 'child' } },
    }
    const gateway = await startGateway(config, { env })
    await gateway.up('web', 'child')
    const environments = environmentsBelow(gateway.program.child.pid)
    expect(environments).toEqual([expect.stringContaining('GIVEN=canary-for-child')])
    await gateway.remember({ content: 'a', tier: 'semantic' }, anna)
    web.conduct = BEHAVIOURS.echo
    const told: unknown[] = [
      await gateway.remember({ content: 'b', tier: 'notes' }, anna).catch((error) => error.message),
      await gateway.call('memory/describe', {}, root),
      (await gateway.post('{}', { key: 'canary-for-caller' })).status,
      await gateway.upstream('web'),
      await gateway.metrics(),
    ]
    web.conduct = BEHAVIOURS.failing
    told.push((await gateway.call('memory/recall', { query: 'a' }, anna)).federation)
    expect(await gateway.stop()).toBe(0)
    const { stderr, stdout } = gateway.program
    expect(stderr).toContain('"msg":"call"')
    const everything = JSON.stringify([told, stderr, stdout])
    for (const secret of [...Object.values(env), 'canary-for-caller', keyOf('anna'), web.url]) {
      expect(everything).not.toContain(secret)
    }
    for (const secret of [env.WEB_TOKEN, env.OTHER]) {
      expect(environments.join()).not.toContain(secret)
    }
  },
)
