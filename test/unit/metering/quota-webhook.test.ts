import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { createQuota } from '../../../src/metering/quota.js'
import type { Charge } from '../../../src/metering/quota-charges.js'
import { type Warning, Webhook, warningOf } from '../../../src/metering/quota-webhook.js'
import { spanAt } from '../../../src/metering/quota-window.js'
import { quota } from '../../support/quotas.js'
import { until } from '../../support/waiting.js'

const NOW = Date.parse('2027-03-10T12:00:30Z')

function charge(fields: Parameters<typeof quota>[0] = {}): Charge {
  const of = createQuota(quota({ soft: 0.8, ...fields }))
  return { quota: of, subject: 'alice', owner: undefined, span: spanAt(of.window, NOW), amount: 1 }
}

const WARNING = warningOf(charge(), 81, { source: 'gateway', now: NOW })

interface Taken {
  readonly request: IncomingMessage
  readonly body: Warning
}

/** A server that answers with one status after another, the last again and again; 0 never answers. */
async function hookServer(...statuses: number[]) {
  const taken: Taken[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (part) => {
      text += part
    })
    request.on('end', () => {
      taken.push({ request, body: JSON.parse(text) })
      const status = statuses.length > 1 ? statuses.shift() : statuses[0]
      if (status) response.writeHead(status, { location: '/elsewhere' }).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return { url: `http://127.0.0.1:${port}/hook`, taken }
}

function webhookTo(url: string, fields: { readonly timeout?: number } = {}) {
  const outcomes: string[] = []
  let ids = 0
  const webhook = new Webhook({
    url,
    bearer: 'secret-of-hook',
    timeout: 2000,
    retries: 2,
    backoff: 1,
    newId: () => `id-${++ids}`,
    outcome: (outcome) => outcomes.push(outcome),
    ...fields,
  })
  onTestFinished(() => webhook.close())
  return { webhook, outcomes }
}

test('a warning says which limit, of whom, how much, and until when', async () => {
  const { url, taken } = await hookServer(204)
  const { webhook, outcomes } = webhookTo(url)
  webhook.tell(WARNING)
  await until(() => outcomes.length === 1)
  expect(outcomes).toEqual(['sent'])
  expect(taken[0]?.request).toMatchObject({ method: 'POST', url: '/hook' })
  expect(taken[0]?.request.headers).toMatchObject({
    authorization: 'Bearer secret-of-hook',
    'content-type': 'application/json',
  })
  expect(taken[0]?.body).toEqual({
    id: 'id-1',
    type: 'a2m.quota.warned',
    at: '2027-03-10T12:00:30.000Z',
    source: 'gateway',
    limit: 'q',
    of: 'calls',
    per: 'caller',
    subject: 'alice',
    max: 100,
    warn_at: 80,
    used: 81,
    resets_at: '2027-03-10T12:01:00.000Z',
  })
})

test('an owner is named as callers name it, a stock has no end', () => {
  const stock = charge({ of: 'stock', per: 'owner', window: undefined })
  const told = warningOf({ ...stock, owner: 'team/x' }, 90, { source: 'g', now: NOW })
  expect(told.subject).toBe('team/x')
  expect(told).not.toHaveProperty('resets_at')
  expect(warningOf({ ...stock, owner: null }, 90, { source: 'g', now: NOW }).subject).toBeNull()
})

test.each([
  ['what is broken for a while is tried again', [500, 429, 200], ['sent'], 3],
  ['what stays broken is given up', [503], ['failed'], 3],
  ['what is refused is not tried again', [400], ['failed'], 1],
  ['a redirect is not followed', [307], ['failed'], 1],
] as const)('%s', async (_, statuses, expected, attempts) => {
  const { url, taken } = await hookServer(...statuses)
  const { webhook, outcomes } = webhookTo(url)
  webhook.tell(WARNING)
  await until(() => outcomes.length === 1)
  expect(outcomes).toEqual(expected)
  expect(taken.map(({ request }) => request.url)).toEqual(Array(attempts).fill('/hook'))
  expect(new Set(taken.map(({ body }) => body.id)).size).toBe(1)
})

test('one that never answers is left, and the next is told', async () => {
  const { url, taken } = await hookServer(0, 0, 0, 200)
  const { webhook, outcomes } = webhookTo(url, { timeout: 50 })
  webhook.tell(WARNING)
  webhook.tell(WARNING)
  await until(() => outcomes.length === 2)
  expect(outcomes).toEqual(['failed', 'sent'])
  expect(taken.map(({ body }) => body.id)).toEqual(['id-1', 'id-1', 'id-1', 'id-2'])
})

test('more than a thousand are not kept for one that is away, and closing gives up at once', async () => {
  const { url } = await hookServer(0)
  const { webhook, outcomes } = webhookTo(url)
  for (let warning = 0; warning < 1100; warning++) webhook.tell(WARNING)
  expect(outcomes.length).toBeGreaterThanOrEqual(99)
  await webhook.close()
  webhook.tell(WARNING)
  expect(outcomes).toHaveLength(1101)
  expect(new Set(outcomes)).toEqual(new Set(['dropped', 'failed']))
})
