import { randomBytes } from 'node:crypto'
import { Registry } from 'prom-client'
import { expect, onTestFinished, test } from 'vitest'
import { createAdminEdge } from '../../src/edge/admin.js'
import { createIdentity } from '../../src/identity/identity.js'
import { newKey } from '../../src/identity/keys.js'
import { systemClock } from '../../src/protocol/time.js'
import { createCallLog, createFailureLog } from '../../src/telemetry/call-log.js'
import { createLog } from '../../src/telemetry/logs.js'
import { createMetrics } from '../../src/telemetry/metrics.js'
import { observeAll } from '../../src/telemetry/report.js'
import { withCrashLog } from '../../src/telemetry/with-crash-log.js'
import { message, NOTHING, post, RawClient, servedBy, startEdge } from './edge-fixture.js'

async function startAdmin(registry = new Registry()) {
  const admin = createAdminEdge({
    allowedOrigins: [],
    metrics: { contentType: registry.contentType, read: () => registry.metrics() },
    ready: () => ({ state: 'waiting', reason: 'starting' }),
    upstreams: () => [{ upstream: 'facts', state: 'up' }],
  })
  onTestFinished(() => admin.close(100))
  return { admin, ...(await admin.listen('127.0.0.1', 0)) }
}

test('metrics are served as Prometheus reads them', async () => {
  const registry = new Registry()
  const metrics = createMetrics({ registry, upstreams: () => [] })
  metrics.refused(401)
  const { url } = await startAdmin(registry)
  const response = await fetch(`${url}metrics`)
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  expect(await response.text()).toContain('a2m_refusals_total{status="401"} 1')
})

test('health and upstreams are there, JSON-RPC is not', async () => {
  const { url } = await startAdmin()
  expect(await (await fetch(`${url}upstreams`)).json()).toEqual([
    { upstream: 'facts', state: 'up' },
  ])
  expect((await fetch(`${url}health/live`)).status).toBe(200)
  expect((await fetch(`${url}health/ready`)).status).toBe(503)
  expect((await post(url, message())).status).toBe(404)
})

test.each(['metrics', 'upstreams', 'health/live', 'health/ready', 'no'])(
  '%s is for no page of a browser and for no foreign Host',
  async (path) => {
    const { url, port } = await startAdmin()
    const headers = { origin: 'https://evil.example' }
    expect((await fetch(url + path, { headers })).status).toBe(403)
    const client = await RawClient.open(port)
    client.send(`GET /${path} HTTP/1.1\r\nhost: evil.example\r\n\r\n`)
    expect(await client.until(/\}$/)).toMatch(/^HTTP\/1\.1 403 /)
  },
)

test('a port that is taken is an error with its code', async () => {
  const { port } = await startAdmin()
  const second = createAdminEdge({
    allowedOrigins: [],
    metrics: { contentType: 'text/plain', read: async () => '' },
    ready: () => ({ state: 'ready' }),
    upstreams: () => [],
  })
  await expect(second.listen('127.0.0.1', port)).rejects.toMatchObject({ code: 'EADDRINUSE' })
  await second.close(100)
})

test('a key, a token in an error and a secret in a fault are in no log, metric or answer', async () => {
  const { key, sha256 } = newKey(randomBytes)
  const canary = 'canary-7f3a'
  const lines: string[] = []
  const log = createLog({
    level: 'debug',
    secrets: [canary],
    stream: { write: (line) => lines.push(line) },
  })
  const registry = new Registry()
  const served = withCrashLog(
    servedBy(({ method, context }) => {
      const ask = { upstream: 'facts', method, attempts: 1, ms: 1, count: 0 }
      context.observe({ ...ask, state: 'failed', reason: `http://x:${canary}@127.0.0.1/ refused` })
      if (method === 'memory/recall') throw new Error(`token ${canary} is wrong`)
      return NOTHING
    }),
    log,
  )
  const { url } = await startEdge(() => NOTHING, {
    versions: new Map([['a2m/0.1', { served }]]),
    identity: createIdentity(
      { keys: [{ name: 'a', owner: 'alice', sha256, roles: [] }] },
      { clock: systemClock },
    ),
    observer: observeAll([
      createMetrics({ registry, upstreams: () => [] }),
      createCallLog(log),
      createFailureLog({ log, clock: systemClock, everyMs: 1000 }),
    ]),
  })
  const { url: adminUrl } = await startAdmin(registry)
  const answers = [
    post(url, message(), { authorization: `Bearer ${key}` }),
    post(url, message({ method: 'memory/timeline' }), { authorization: `Bearer ${key}` }),
    post(url, message(), { authorization: `Bearer ${key}x` }),
    post(url, key, { authorization: `Bearer ${key}` }),
    fetch(`${url}${key}`),
    fetch(`${adminUrl}metrics`),
  ]
  const texts = await Promise.all(answers.map(async (answer) => (await answer).text()))
  const everything = [...texts, ...lines].join('\n')
  expect(lines.length).toBeGreaterThanOrEqual(4)
  expect(everything).toContain('[redacted]')
  for (const secret of [canary, key, sha256]) expect(everything).not.toContain(secret)
})
