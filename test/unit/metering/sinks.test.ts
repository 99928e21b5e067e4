import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import {
  type CloudEventsOptions,
  createCloudEventsSink,
} from '../../../src/metering/cloud-events.js'
import { createJsonLinesSink } from '../../../src/metering/json-lines.js'
import type { Ledger } from '../../../src/metering/ledger.js'
import { Delivery, type Sink, type SinkNews } from '../../../src/metering/sink.js'
import { openSqliteLedger } from '../../../src/metering/sqlite-ledger.js'
import { TEN, usageEvent } from '../../support/usage-events.js'
import { until } from '../../support/waiting.js'

interface Posted {
  readonly headers: NodeJS.Dict<string | string[]>
  readonly events: { readonly id: string }[]
}

/** Takes batches, and answers each with the status that `answer` gives. */
async function meter(answer: (posted: Posted) => number = () => 204) {
  const posted: Posted[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const one = { headers: request.headers, events: JSON.parse(text) }
    posted.push(one)
    response.writeHead(answer(one)).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/events`, posted }
}

function cloud(url: string, said: Partial<CloudEventsOptions> = {}): Sink {
  return createCloudEventsSink({
    name: 'billing',
    url,
    bearer: 'the-token',
    type: 'a2m.call',
    source: 'acme',
    subject: 'owner',
    batch: 100,
    timeout: 1000,
    ...said,
  })
}

describe('CloudEvents', () => {
  test('go out as one structured batch', async () => {
    const { url, posted } = await meter()
    const event = usageEvent({ tokens: 7, tiers: ['working'], recordsOut: 2 })
    expect(await cloud(url).send([event])).toBe(0)
    expect(posted[0]?.headers).toMatchObject({
      'content-type': 'application/cloudevents-batch+json',
      authorization: 'Bearer the-token',
    })
    expect(posted[0]?.events).toMatchObject([
      {
        specversion: '1.0',
        id: event.id,
        type: 'a2m.call',
        source: 'acme',
        subject: 'alice',
        time: '2026-03-01T10:00:00.000Z',
        datacontenttype: 'application/json',
        data: { caller: 'agent-a', owner: 'alice', tokens: 7, records_out: 2, tiers: ['working'] },
      },
    ])
  })

  test.each([
    ['owner', 'alice', 'alice'],
    ['owner', null, 'agent-a'],
    ['owner', undefined, 'agent-a'],
    ['caller', 'alice', 'agent-a'],
  ] as const)('with subject %s and owner %s are about %s', async (subject, owner, expected) => {
    const { url, posted } = await meter()
    await cloud(url, { subject, bearer: undefined }).send([usageEvent({ owner })])
    expect(posted[0]?.events).toMatchObject([{ subject: expected }])
    expect(posted[0]?.headers['authorization']).toBeUndefined()
  })

  test('a batch that is refused is halved, down to the one event that is', async () => {
    const events = Array.from({ length: 5 }, () => usageEvent())
    const bad = events[3]?.id
    const { url, posted } = await meter(({ events: ids }) =>
      ids.some(({ id }) => id === bad) ? 400 : 204,
    )
    expect(await cloud(url).send(events)).toBe(1)
    const taken = posted.filter(({ events: ids }) => !ids.some(({ id }) => id === bad))
    expect(taken.flatMap(({ events: ids }) => ids.map(({ id }) => id))).toEqual(
      events.filter(({ id }) => id !== bad).map(({ id }) => id),
    )
  })

  test.each([401, 404, 429, 500, 302])(
    'status %d says nothing against the events',
    async (status) => {
      const { url } = await meter(() => status)
      await expect(cloud(url).send([usageEvent()])).rejects.toThrow(`status ${status}`)
    },
  )

  test('a server that is not there is told of without its address', async () => {
    const failure = cloud('http://127.0.0.1:1/secret-path').send([usageEvent()])
    await expect(failure).rejects.toThrow(/^it cannot be reached/)
    await expect(failure).rejects.not.toThrow('secret-path')
  })
})

describe('JSON Lines', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'a2m-lines-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  test('are set aside by size, the newest first, and so many are kept', async () => {
    const path = join(folder, 'deep', 'usage.jsonl')
    const sink = createJsonLinesSink({ name: 'file', path, maxBytes: 100, keep: 2 })
    const events = Array.from({ length: 4 }, () => usageEvent())
    for (const event of events) await sink.send([event])
    const idIn = (name: string) => JSON.parse(readFileSync(join(folder, 'deep', name), 'utf8')).id
    expect(readdirSync(join(folder, 'deep')).toSorted()).toEqual(['usage.jsonl.1', 'usage.jsonl.2'])
    expect([idIn('usage.jsonl.1'), idIn('usage.jsonl.2')]).toEqual([events[3]?.id, events[2]?.id])
  })

  test('are appended to where they fit', async () => {
    const path = join(folder, 'usage.jsonl')
    const sink = createJsonLinesSink({ name: 'file', path, maxBytes: 1e6, keep: 2 })
    await sink.send([usageEvent(), usageEvent()])
    await sink.send([usageEvent()])
    expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(4)
  })
})

describe('delivery', () => {
  let ledger: Ledger
  beforeEach(() => {
    ledger = openSqliteLedger({ path: ':memory:', durability: 'normal' })
    onTestFinished(() => ledger.close())
  })

  const add = async (count: number, lane = 'one') => {
    const events = Array.from({ length: count }, () => usageEvent())
    await ledger.add({ lane, segment: 1, position: 1, events })
    return events.map(({ id }) => id)
  }

  function deliveryTo(send: Sink['send'], batch = 2) {
    const news: SinkNews[] = []
    const delivery = new Delivery({
      ledger,
      sink: { name: 'sink', batch, send },
      now: () => TEN + 5000,
      random: () => 0,
      news: (one) => news.push(one),
    })
    onTestFinished(() => delivery.end())
    return { delivery, news }
  }

  test('is in order and each once, over restarts', async () => {
    const got: string[] = []
    const taking: Sink['send'] = async (events) => {
      got.push(...events.map(({ id }) => id))
      return 0
    }
    const first = deliveryTo(taking)
    const ids = await add(5)
    first.delivery.wake('one')
    await until(() => got.length === 5)
    await first.delivery.end()
    ids.push(...(await add(3)))
    const second = deliveryTo(taking)
    second.delivery.wake('one')
    await until(() => got.length === 8)
    expect(got).toEqual(ids)
  })

  test('tries a sink that is down again, from where it was, and holds up nothing', async () => {
    const got: string[] = []
    let down = 2
    const { delivery, news } = deliveryTo(async (events) => {
      if (down-- > 0) throw new Error('down')
      got.push(...events.map(({ id }) => id))
      return 0
    })
    const ids = await add(3)
    delivery.wake('one')
    await until(() => news.length > 0)
    expect(news[0]).toEqual({
      sink: 'sink',
      delivered: 0,
      refused: 0,
      lagMs: 5000,
      failure: 'down',
    })
    await until(() => got.length === 3)
    expect(got).toEqual(ids)
    expect(news.at(-1)).toMatchObject({ delivered: 1, lagMs: 0, failure: undefined })
  })

  test('counts what a sink refuses for good, and goes on behind it', async () => {
    const { delivery, news } = deliveryTo(async () => 1)
    await add(3)
    delivery.wake('one')
    await until(() => news.length === 2)
    expect(news.map(({ delivered, refused }) => [delivered, refused])).toEqual([
      [1, 1],
      [0, 1],
    ])
  })
})
