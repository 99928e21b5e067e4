import type { Pool, PoolClient } from 'pg'
import { answerOf, type RawLine } from './answer.js'
import { printEvent, readEvent } from './event.js'
import type { Batch, Ledger, Numbered, Position, StockQuery } from './ledger.js'
import { adding, columnsOf, prepareDatabase } from './postgres-schema.js'
import type { UsageQuery } from './query.js'
import { type CallRow, rollUp, type UpstreamRow } from './rollups.js'
import { replaced, type StockCount, type StockRow, stockAnswer } from './stock-sums.js'
import { linesOf, POSTGRES, type Statement, totalsOf } from './usage-sql.js'

export interface PostgresLedgerOptions {
  /** With its password; never to be in a message. */
  readonly url: string
  /** The longest that one statement may take, in ms. */
  readonly timeout: number
}

const CONNECTIONS = 4
/** Events that are taken away in one statement. */
const PORTION = 5000
const DAY_MS = 86_400_000

/** Opens a ledger that several gateways may share. The driver is loaded here, and nothing is asked of the server yet. */
export async function openPostgresLedger(options: PostgresLedgerOptions): Promise<Ledger> {
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({
    connectionString: options.url,
    max: CONNECTIONS,
    connectionTimeoutMillis: options.timeout,
    query_timeout: options.timeout,
    statement_timeout: options.timeout,
    application_name: 'a2m-gateway',
    keepAlive: true,
  })
  // An idle connection that breaks is replaced; without a listener it would end the process.
  pool.on('error', () => {})
  return new PostgresLedger(pool)
}

class PostgresLedger implements Ledger {
  readonly #pool: Pool
  #prepared = false

  constructor(pool: Pool) {
    this.#pool = pool
  }

  async position(lane: string): Promise<Position | undefined> {
    const [found] = await this.#read({
      text: 'SELECT segment, position FROM usage_lanes WHERE lane = $1',
      values: [lane],
    })
    if (found === undefined) return undefined
    return { segment: Number(found['segment']), position: Number(found['position']) }
  }

  add(batch: Batch): Promise<number> {
    return this.#transaction(async (client) => {
      const fresh = await insertEvents(client, batch)
      const { calls, upstreams } = rollUp(batch.events.filter(({ id }) => fresh.delete(id)))
      if (calls.length > 0) await addRows(client, 'usage_calls', calls)
      if (upstreams.length > 0) await addRows(client, 'usage_upstreams', upstreams)
      await client.query(MOVE_POSITION, [batch.lane, batch.segment, batch.position])
      return calls.reduce((sum, row) => sum + row.sums.calls, 0)
    })
  }

  async usage(query: UsageQuery) {
    const lines = await this.#read(linesOf(query, POSTGRES))
    const [totals] = await this.#read(totalsOf(query, POSTGRES))
    return answerOf(query, lines, totals)
  }

  async after(lane: string, seq: number, limit: number): Promise<readonly Numbered[]> {
    const text =
      'SELECT seq, event FROM usage_events WHERE lane = $1 AND seq > $2 ORDER BY seq LIMIT $3'
    const rows = await this.#read({ text, values: [lane, seq, limit] })
    return rows.flatMap((row) => {
      const event = readEvent(String(row['event']))
      return event === undefined ? [] : [{ seq: Number(row['seq']), event }]
    })
  }

  async cursor(lane: string, sink: string): Promise<number> {
    const text = 'SELECT seq FROM usage_sinks WHERE lane = $1 AND sink = $2'
    const [found] = await this.#read({ text, values: [lane, sink] })
    return Number(found?.['seq'] ?? 0)
  }

  async moveCursor(lane: string, sink: string, seq: number): Promise<void> {
    const text = `INSERT INTO usage_sinks (lane, sink, seq) VALUES ($1, $2, $3)
      ON CONFLICT (lane, sink) DO UPDATE SET seq = excluded.seq`
    await this.#read({ text, values: [lane, sink, seq] })
  }

  count(counts: readonly StockCount[]): Promise<void> {
    const keyed = counts.map((count) => ({ count, key: JSON.stringify(keyOf(count)) }))
    keyed.sort((a, b) => (a.key < b.key ? -1 : 1))
    return this.#transaction(async (client) => {
      for (const { count } of keyed) await countOne(client, count)
    })
  }

  async stock(query: StockQuery) {
    const { source = null, owner = null, from, to, limit } = query
    const days = [Math.floor(from / DAY_MS), Math.ceil(to / DAY_MS)]
    const values = [source, owner, ...days, limit + 1]
    const rows = await this.#read({ text: STOCK, values })
    return stockAnswer(
      rows.map((row) => ({ ...stockRow(row), hours: Number(row['hours'] ?? 0) })),
      query,
    )
  }

  async owners(source: string, sinceHour: number): Promise<readonly string[]> {
    const rows = await this.#read({ text: OWNERS, values: [source, sinceHour] })
    return rows.map((row) => String(row['owner']))
  }

  async prune(before: number): Promise<number> {
    const client = await this.#connect()
    try {
      return (await client.query(PRUNE, [before, PORTION])).rowCount ?? 0
    } finally {
      client.release()
    }
  }

  close(): Promise<void> {
    return this.#pool.end()
  }

  async #read({ text, values }: ReadStatement): Promise<readonly RawLine[]> {
    const client = await this.#connect()
    try {
      return (await client.query<RawLine & { [column: string]: unknown }>(text, [...values])).rows
    } finally {
      client.release()
    }
  }

  async #transaction<T>(task: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#connect()
    let failure: Error | undefined
    try {
      return await inTransaction(client, task)
    } catch (thrown) {
      failure = thrown instanceof Error ? thrown : new Error(String(thrown))
      throw failure
    } finally {
      // A connection on which something went wrong may be in the middle of it.
      client.release(failure)
    }
  }

  async #connect(): Promise<PoolClient> {
    const client = await this.#pool.connect()
    if (this.#prepared) return client
    try {
      await inTransaction(client, () =>
        prepareDatabase((text, values) => client.query(text, values)),
      )
      this.#prepared = true
      return client
    } catch (thrown) {
      client.release(true)
      throw thrown
    }
  }
}

interface ReadStatement {
  readonly text: string
  readonly values: readonly (Statement['values'][number] | null)[]
}

async function inTransaction<T>(
  client: PoolClient,
  task: (client: PoolClient) => Promise<T>,
): Promise<T> {
  await client.query('BEGIN')
  try {
    const result = await task(client)
    await client.query('COMMIT')
    return result
  } catch (thrown) {
    await client.query('ROLLBACK').catch(() => {})
    throw thrown
  }
}

async function insertEvents(client: PoolClient, batch: Batch): Promise<Set<string>> {
  const { lane, events } = batch
  const { rows } = await client.query<{ id: string }>(INSERT_EVENTS, [
    lane,
    events.map(({ id }) => id),
    events.map(({ at }) => Math.floor(at)),
    events.map(printEvent),
  ])
  return new Set(rows.map(({ id }) => id))
}

/** In the order of the events, which is what the numbers that sinks read by go by. */
const INSERT_EVENTS = `INSERT INTO usage_events (id, lane, at, event)
  SELECT id, $1, at, event FROM unnest($2::text[], $3::bigint[], $4::text[])
    WITH ORDINALITY AS e(id, at, event, place) ORDER BY place
  ON CONFLICT (id) DO NOTHING RETURNING id`

const MOVE_POSITION = `INSERT INTO usage_lanes (lane, segment, position) VALUES ($1, $2, $3)
  ON CONFLICT (lane) DO UPDATE SET segment = excluded.segment, position = excluded.position`

const PRUNE = `DELETE FROM usage_events WHERE seq IN
  (SELECT seq FROM usage_events WHERE at < $1 ORDER BY at LIMIT $2)`

const OWNERS = `SELECT owner FROM usage_stock WHERE source = $1
  UNION SELECT owner FROM usage_calls WHERE hour >= $2 AND owner <> 'any:'`

const STOCK = `SELECT *, (SELECT sum(hours) FROM usage_stock_days AS days
    WHERE days.source = usage_stock.source AND days.owner = usage_stock.owner
      AND days.tier = usage_stock.tier AND day >= $3 AND day < $4) AS hours
  FROM usage_stock WHERE ($1::text IS NULL OR source = $1) AND ($2::text IS NULL OR owner = $2)
  ORDER BY records DESC, source, owner, tier LIMIT $5`

type SumTable = 'usage_calls' | 'usage_upstreams'

function addRows(
  client: PoolClient,
  table: SumTable,
  rows: readonly (CallRow | UpstreamRow)[],
): Promise<unknown> {
  const flat = rows.map(({ sums, ...dimensions }): RawLine => ({ ...dimensions, ...sums }))
  const arrays = columnsOf(table).map((column) => flat.map((row) => row[column]))
  return client.query(adding(table), arrays)
}

function keyOf({ source, owner, tier }: StockCount): [string, string, string] {
  return [source, owner, tier]
}

async function countOne(client: PoolClient, count: StockCount): Promise<void> {
  const key = keyOf(count)
  const found = await client.query<Record<string, unknown>>(STOCK_ROW, key)
  const [before] = found.rows
  const { row, days } = replaced(before && stockRow(before), count)
  await client.query(SET_STOCK, [...key, row.records, row.characters, row.since])
  for (const { day, hours } of days) await client.query(ADD_STOCK_DAY, [...key, day, hours])
}

const STOCK_ROW =
  'SELECT * FROM usage_stock WHERE source = $1 AND owner = $2 AND tier = $3 FOR UPDATE'

const SET_STOCK = `INSERT INTO usage_stock (source, owner, tier, records, characters, since)
  VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (source, owner, tier) DO UPDATE
  SET records = excluded.records, characters = excluded.characters, since = excluded.since`

const ADD_STOCK_DAY = `INSERT INTO usage_stock_days (source, owner, tier, day, hours)
  VALUES ($1, $2, $3, $4, $5) ON CONFLICT (source, owner, tier, day)
  DO UPDATE SET hours = usage_stock_days.hours + excluded.hours`

function stockRow(row: RawLine): StockRow {
  return {
    source: String(row['source']),
    owner: String(row['owner']),
    tier: String(row['tier']),
    records: Number(row['records']),
    characters: Number(row['characters']),
    since: Number(row['since']),
  }
}
