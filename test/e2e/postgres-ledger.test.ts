import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openPostgresLedger } from '../../src/metering/postgres-ledger.js'
import { describeLedger } from '../support/ledger-suite.js'
import { type Service, startPostgres } from '../support/services.js'
import { usageEvent } from '../support/usage-events.js'

let server: Service
const closing: (() => Promise<void>)[] = []
beforeAll(async () => {
  server = await startPostgres((close) => closing.push(close))
})
afterAll(async () => {
  for (const close of closing) await close()
})

/** A database of its own in the one cluster. */
async function emptyDatabase(): Promise<string> {
  const name = `ledger_${randomBytes(6).toString('hex')}`
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  await client.query(`CREATE DATABASE ${name}`)
  await client.end()
  const url = new URL(server.url)
  url.pathname = `/${name}`
  return url.href
}

async function open(url: string) {
  const ledger = await openPostgresLedger({ url, timeout: 5000 })
  onTestFinished(() => ledger.close())
  return ledger
}

describeLedger('a ledger in PostgreSQL', async () => open(await emptyDatabase()))

test('two gateways that start together make the tables once, and add side by side', async () => {
  const url = await emptyDatabase()
  const ledgers = await Promise.all([open(url), open(url), open(url)])
  const events = Array.from({ length: 200 }, (_, index) =>
    usageEvent({ caller: `caller-${index % 7}`, recordsOut: 1 }),
  )
  const added = await Promise.all(
    ledgers.flatMap((ledger, lane) =>
      [0, 50, 100, 150].map((start) =>
        ledger.add({
          lane: `lane-${lane}`,
          segment: 1,
          position: start,
          events: events.slice(start, start + 50),
        }),
      ),
    ),
  )
  expect(added.reduce((sum, count) => sum + count, 0)).toBe(200)
  const told = await ledgers[0]?.usage({ by: ['caller'], from: 0, to: 1e6, where: {}, limit: 10 })
  expect(told?.totals).toMatchObject({ calls: 200, records_out: 200 })
})

test('a server that is away is an error without the password, and nothing once it is back', async () => {
  const url = new URL(await emptyDatabase())
  url.password = 'hunter2hunter2'
  const ledger = await open(url.href)
  await ledger.add({ lane: 'one', segment: 1, position: 1, events: [usageEvent()] })
  await server.stop()
  const failure = await ledger.position('one').catch((thrown: unknown) => String(thrown))
  expect(failure).toMatch(/ECONNREFUSED|terminat|Connection/)
  expect(failure).not.toContain('hunter2')
  await server.start()
  expect(await ledger.position('one')).toEqual({ segment: 1, position: 1 })
})
