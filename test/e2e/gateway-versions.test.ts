import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { emptyFolder, run } from '../support/gateway-process.js'
import {
  type Calling,
  configIn,
  type Gateway,
  keyEntry,
  keyOf,
  startGateway,
} from '../support/gateway-under-test.js'
import { meets } from '../support/meets.js'

const HEADER = 'a2m-protocol-version'
const old: Calling = { headers: { [HEADER]: 'a2m/0.1' } }
const next: Calling = { headers: { [HEADER]: 'a2m/0.2' } }
const elsewhere: Calling = { headers: { [HEADER]: 'a2m/0.3' } }
const TWO = {
  federations: { trial: {} },
  versions: { 'a2m/0.1': {}, 'a2m/0.2': { federation: 'trial' } },
}
const REMEMBER = (content: string, key: string) => ({
  records: [{ content, key, tier: 'semantic' }],
})

function as(name: string, { headers }: Calling = {}): Calling {
  return { key: keyOf(name), ...(headers === undefined ? {} : { headers }) }
}

describe('two federations under two versions', () => {
  test('keep their records, keys, sessions and events apart, also after a restart', async () => {
    const cwd = emptyFolder()
    const first = await startGateway(TWO, { cwd })
    const { cursor } = await first.call('memory/events', {}, next)
    const id = await first.remember({ content: 'of the old one', session: 's' }, old)
    await first.call('memory/remember', REMEMBER('old at the key', 'k'), old)
    await first.call('memory/remember', REMEMBER('new at the key', 'k'), next)
    const check = async (gateway: Gateway) => {
      expect((await gateway.contentsOf({}, old)).sort()).toEqual([
        'of the old one',
        'old at the key',
      ])
      expect(await gateway.contentsOf({}, next)).toEqual(['new at the key'])
      expect((await gateway.call('memory/fetch', { key: 'k' }, old)).record?.content).toBe(
        'old at the key',
      )
      expect((await gateway.call('memory/fetch', { key: 'k' }, next)).record?.content).toBe(
        'new at the key',
      )
      const asked = await gateway.call('memory/recall', { query: 'old one' }, next)
      expect(asked.records.map(({ content }) => content)).not.toContain('of the old one')
      expect((await gateway.call('memory/session/list', {}, next)).sessions).toEqual([])
      expect((await gateway.call('memory/session/list', {}, old)).sessions).toHaveLength(1)
      expect((await gateway.call('memory/events', { cursor }, next)).events).toHaveLength(1)
      expect((await gateway.call('memory/forget', { ids: [id] }, next)).forgotten).toBe(0)
    }
    await check(first)
    expect(await first.stop()).toBe(0)
    await check(await startGateway(TWO, { cwd }))
    for (const file of ['gateway.db', 'trial/gateway.db', 'trial/working.db', 'knowledge.db']) {
      expect([file, existsSync(join(cwd, 'data', file))]).toEqual([file, true])
    }
  })

  test(`describe says the version that serves, and the header alone decides ${meets('8.3.2/refused', '8.3.2/absent', '4.1/no-pretence')}`, async () => {
    const gateway = await startGateway(TWO)
    const protocolOf = async (calling: Calling) =>
      (await gateway.call('memory/describe', {}, calling)).protocol
    expect(await protocolOf(old)).toBe('a2m/0.1')
    expect(await protocolOf(next)).toBe('a2m/0.2')
    expect(await protocolOf({})).toBe('a2m/0.1')
    const supported = ['a2m/0.1', 'a2m/0.2']
    for (const protocol of ['a2m/0.2', 'a2m/0.7']) {
      const asked = gateway.call('memory/describe', { protocol }, old)
      await expect(asked).rejects.toMatchObject({ code: -32007, data: { supported } })
    }
    const unread = await gateway.post('{ no JSON', { headers: { [HEADER]: 'a2m/0.9' } })
    expect(unread.status).toBe(400)
    expect(await unread.json()).toMatchObject({
      id: null,
      error: { code: -32007, data: { supported } },
    })
    expect((await gateway.post('{', { headers: { [HEADER]: 'a2m/0.1, a2m/0.2' } })).status).toBe(
      400,
    )
  })

  test('what is asked of each is counted for each, in names that are unique', async () => {
    const gateway = await startGateway(TWO)
    await gateway.remember({ content: 'a' }, old)
    await gateway.remember({ content: 'a' }, next)
    await gateway.contentsOf({}, next)
    await gateway.post('{}', { headers: { [HEADER]: 'a2m/0.9' } })
    const requests = (version: string) =>
      gateway.metric(`a2m_version_requests_total{version="${version}"}`)
    expect(await requests('a2m/0.1')).toBe(1)
    expect(await requests('a2m/0.2')).toBe(2)
    expect(await requests('other')).toBe(1)
    const asks = (upstream: string, method: string) =>
      gateway.metric(`a2m_asks_total{upstream="${upstream}",method="${method}",state="ok"}`)
    expect(await asks('working', 'memory/remember')).toBe(1)
    expect(await asks('trial/working', 'memory/remember')).toBe(1)
    expect(await asks('working', 'memory/timeline')).toBe(0)
    expect(await asks('trial/working', 'memory/timeline')).toBe(1)
    expect(await gateway.metric('a2m_upstream_state{upstream="trial/knowledge",state="up"}')).toBe(
      1,
    )
  })

  test('operators see both; readiness and the profile are those of the default one', async () => {
    const gateway = await startGateway({
      ...TWO,
      federations: { trial: { upstreams: { gone: { url: 'http://127.0.0.1:1/' } } } },
    })
    expect((await gateway.upstream('knowledge')).state).toBe('up')
    expect((await gateway.upstream('trial/gone')).state).toBe('unread')
    const health = await fetch(new URL('/health/ready', gateway.url))
    expect(health.status).toBe(200)
    expect(await health.json()).toEqual({
      state: 'ready',
      federations: { default: 'ready', trial: 'waiting' },
    })
    const profile = await fetch(new URL('/.well-known/a2m-server.json', gateway.url))
    expect(await profile.json()).toMatchObject({ protocol: 'a2m/0.1', name: 'a2m-gateway' })
  })

  test('the one that is marked serves requests without the header, and stdio', async () => {
    const cwd = emptyFolder()
    const config = {
      ...TWO,
      versions: { 'a2m/0.1': {}, 'a2m/0.2': { federation: 'trial', default: true } },
    }
    const gateway = await startGateway(config, { cwd })
    expect(await gateway.call('memory/describe')).toMatchObject({
      protocol: 'a2m/0.2',
      name: 'a2m-gateway/trial',
    })
    const profile = await fetch(new URL('/.well-known/a2m-server.json', gateway.url))
    expect(await profile.json()).toMatchObject({ protocol: 'a2m/0.2', name: 'a2m-gateway/trial' })
    await gateway.remember({ content: 'over HTTP' })
    await gateway.stop()
    const timeline = { jsonrpc: '2.0', id: 1, method: 'memory/timeline', params: { limit: 0 } }
    const input = `${JSON.stringify(timeline)}\n`
    const { stdout } = await run(['stdio', '--config', configIn(cwd, config)], { cwd, input })
    expect(JSON.parse(stdout)).toMatchObject({ result: { records: [{ content: 'over HTTP' }] } })
  })

  test('a limit on stock counts what an owner has in both', async () => {
    const cwd = emptyFolder()
    const limited = {
      ...TWO,
      auth: { keys: [keyEntry('anna')] },
      quotas: { limits: { room: { of: 'stock', limit: 2, per: 'owner' } } },
    }
    const first = await startGateway(limited, { cwd })
    await first.remember({ content: 'one' }, as('anna', old))
    await first.remember({ content: 'two' }, as('anna', next))
    await first.stop()
    const second = await startGateway(limited, { cwd })
    for (const version of [old, next]) {
      const third = second.remember({ content: 'three' }, as('anna', version))
      await expect(third).rejects.toMatchObject({ code: -32006 })
    }
  })

  test('one that cannot be opened is named, and nothing is left open', async () => {
    const cwd = emptyFolder()
    const broken = { broken: { upstreams: { a: { store: 'sqlite', path: '/proc/none.db' } } } }
    const config = { federations: broken, versions: { 'a2m/0.1': {}, b: { federation: 'broken' } } }
    const { code, stderr } = await run(['serve', '--config', configIn(cwd, config)], { cwd })
    expect(code).not.toBe(0)
    expect(stderr).toContain('/proc/none.db')
  })
})

test('check tells what serves each version, and what is wrong in which federation', async () => {
  const cwd = emptyFolder()
  const config = {
    auth: { keys: [keyEntry('ops', '*')] },
    federations: { trial: { upstreams: { gone: { url: 'http://127.0.0.1:1/' } } } },
    versions: {
      'a2m/0.1': { deprecated: '2026-07-01', sunset: '2027-01-31' },
      'a2m/0.2': { federation: 'trial', default: true },
      'a2m/0.3': { url: 'http://127.0.0.1:1/a2m' },
    },
  }
  const args = ['check', '--config', configIn(cwd, config)]
  const { code, stdout } = await run(args, { cwd })
  expect(code).toBe(1)
  const lines = stdout.split('\n').map((line) => line.trimEnd().replace(/ {2,}/g, '  '))
  expect(lines.slice(0, 5)).toEqual([
    'version  is served by  without the header  deprecated  sunset',
    'a2m/0.2  federation trial  yes  -  -',
    'a2m/0.1  federation default  -  2026-07-01  2027-01-31',
    'a2m/0.3  http://127.0.0.1:1, as it is  -  -  -',
    '',
  ])
  expect(lines).toContain('federation default')
  expect(lines).toContain('federation trial')
  expect(stdout).toMatch(/^wrong: federation trial: upstream gone is unread/m)
  expect(stdout).toMatch(/^wrong: version a2m\/0\.3: http:\/\/127\.0\.0\.1:1: no connection/m)
  const json = JSON.parse((await run([...args, '--json'], { cwd })).stdout)
  expect(json).toMatchObject({
    ok: false,
    federation: 'default',
    versions: [{ name: 'a2m/0.2', default: true, servedBy: { federation: 'trial' } }, {}, {}],
    federations: [{ federation: 'trial', upstreams: [{ name: 'gone' }] }],
  })
})

test('a probe is told in which federation the upstream is', async () => {
  const cwd = emptyFolder()
  const args = ['check', '--config', configIn(cwd, TWO), '--probe']
  const { code, stdout } = await run([...args, 'trial/knowledge'], { cwd })
  expect([code, stdout]).toEqual([0, expect.stringContaining('knowledge declares core')])
  const { stderr } = await run([...args, 'trial/nobody'], { cwd })
  expect(stderr).toContain('knowledge, procedural, trial/working, trial/knowledge')
})

/** A server that notes what comes and answers with what it was sent. */
async function startEcho() {
  const seen: IncomingMessage['headers'][] = []
  const server = createServer((request, response) => {
    seen.push(request.headers)
    response.writeHead(200, { 'content-type': 'application/json' })
    request.pipe(response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
}

describe('a version that is passed on', () => {
  const KEYS = [
    keyEntry('ops', '*', ['all']),
    keyEntry('reader', '*', ['reads']),
    keyEntry('anna', 'anna', ['all']),
  ]

  test('lets through who may act for every owner and is bound by no role, and meters bytes', async () => {
    const { seen, url } = await startEcho()
    const gateway = await startGateway({
      auth: { keys: KEYS },
      roles: { all: {}, reads: { access: 'read' } },
      versions: { 'a2m/0.1': {}, 'a2m/0.3': { url, auth: { bearer: 'bearer-of-the-gateway' } } },
    })
    const body = '{"jsonrpc":"3.0", not JSON'
    const statuses: unknown[] = []
    for (const name of ['ops', 'reader', 'anna', 'nobody']) {
      const response = await gateway.post(body, as(name, elsewhere))
      const text = await response.text()
      statuses.push([name, response.status, response.status === 200 ? text : JSON.parse(text)])
    }
    const denied = { jsonrpc: '2.0', id: null, error: { code: -32005 } }
    expect(statuses).toMatchObject([
      ['ops', 200, body],
      ['reader', 403, denied],
      ['anna', 403, denied],
      ['nobody', 401, {}],
    ])
    expect(seen).toMatchObject([
      { authorization: 'Bearer bearer-of-the-gateway', [HEADER]: 'a2m/0.3' },
    ])
    expect(JSON.stringify(seen)).not.toContain(keyOf('ops'))
    expect(await gateway.metric('a2m_received_bytes_total')).toBe(body.length)
    expect(await gateway.metric('a2m_sent_bytes_total')).toBe(body.length)
    expect(await gateway.metric('a2m_version_requests_total{version="a2m/0.3"}')).toBe(3)
  })

  test('with owner: token shows a token of the caller’s owner, and its own key only for who may act for all', async () => {
    const { seen, url } = await startEcho()
    const owner = 'token'
    const gateway = await startGateway({
      auth: { keys: [...KEYS, keyEntry('two', 'anna'), keyEntry('ben', 'ben')] },
      versions: { 'a2m/0.1': {}, 'a2m/0.3': { url, owner, audience: 'next' } },
    })
    expect((await gateway.post('{}', as('anna', elsewhere))).status).toBe(200)
    expect((await gateway.post('{}', as('ben', elsewhere))).status).toBe(200)
    expect((await gateway.post('{}', as('ops', elsewhere))).status).toBe(403)
    const claims = seen.map(({ authorization = '' }) => claimsOf(authorization))
    expect(claims).toMatchObject([
      { sub: 'anna', aud: 'next', iss: 'a2m-gateway' },
      { sub: 'ben', aud: 'next', iss: 'a2m-gateway' },
    ])
    const keys = await fetch(new URL('/.well-known/jwks.json', gateway.url))
    expect(await keys.json()).toMatchObject({
      keys: expect.arrayContaining([expect.objectContaining({ use: 'sig' })]),
    })
  })

  test('counts against limits of calls, which say how they stand', async () => {
    const { seen, url } = await startEcho()
    const gateway = await startGateway({
      auth: { keys: KEYS },
      quotas: { limits: { few: { of: 'calls', limit: 2, window: 'day', per: 'caller' } } },
      versions: { 'a2m/0.1': {}, 'a2m/0.3': { url } },
    })
    const statuses: unknown[] = []
    for (let count = 0; count < 3; count++) {
      const response = await gateway.post('{}', as('ops', elsewhere))
      statuses.push([response.status, response.headers.get('ratelimit')?.replace(/;t=.*/, '')])
    }
    expect(statuses).toEqual([
      [200, '"few";r=1'],
      [200, '"few";r=0'],
      [429, '"few";r=0'],
    ])
    expect(seen).toHaveLength(2)
    const denied = await gateway.post('{}', as('ops', elsewhere))
    expect(await denied.json()).toMatchObject({ id: null, error: { code: -32006 } })
  })

  test('is no default for stdio, and has no profile', async () => {
    const { url } = await startEcho()
    const cwd = emptyFolder()
    const config = {
      auth: { keys: KEYS },
      versions: { 'a2m/0.1': {}, 'a2m/0.3': { url, default: true } },
    }
    const gateway = await startGateway(config, { cwd })
    expect((await gateway.post('hello', as('ops'))).status).toBe(200)
    expect((await fetch(new URL('/.well-known/a2m-server.json', gateway.url))).status).toBe(404)
    expect((await fetch(new URL('/health/ready', gateway.url))).status).toBe(200)
    await gateway.stop()
    const { code, stderr } = await run(['stdio', '--config', configIn(cwd, config)], { cwd })
    expect(code).toBe(2)
    expect(stderr).toContain('versions."a2m/0.3".url: requests are passed on over HTTP alone')
  })
})

/** What a bearer token claims, unchecked. */
function claimsOf(authorization: string): unknown {
  const [, claims = ''] = authorization.replace('Bearer ', '').split('.')
  return JSON.parse(Buffer.from(claims, 'base64url').toString())
}

test('a version that is to go says so with every answer but a 401', async () => {
  const link = 'https://docs.example/leaving'
  const gateway = await startGateway({
    auth: { keys: [keyEntry('anna')] },
    versions: {
      'a2m/0.1': { deprecated: '2026-07-01', sunset: '2026-08-31', link },
      'a2m/0.2': {},
    },
  })
  const told = async (calling: Calling, body = '{}') => {
    const response = await gateway.post(body, calling)
    await response.arrayBuffer()
    const of = (name: string) => response.headers.get(name)
    return [response.status, of('deprecation'), of('sunset'), of('link')]
  }
  const going = [
    '@1782864000',
    'Mon, 31 Aug 2026 00:00:00 GMT',
    `<${link}>; rel="deprecation", <${link}>; rel="sunset"`,
  ]
  const nothing = [null, null, null]
  const notification = '{"jsonrpc":"2.0","method":"memory/describe"}'
  expect(await told(as('anna'))).toEqual([200, ...going])
  expect(await told(as('anna'), notification)).toEqual([202, ...going])
  expect(await told(as('anna', { headers: { 'content-type': 'text/plain' } }))).toEqual([
    415,
    ...going,
  ])
  expect(await told(as('anna', next))).toEqual([200, ...nothing])
  expect(await told({})).toEqual([401, ...nothing])
  const sunset = 'a2m_version_sunset_timestamp_seconds{version="a2m/0.1"}'
  expect(await gateway.metric(sunset)).toBe(1_788_134_400)
})
