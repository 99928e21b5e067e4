import Sqlite, { type Database } from 'better-sqlite3'
import { messageOf } from '../protocol/errors.js'
import { answerOf, type RawLine } from './answer.js'
import { printEvent, readEvent } from './event.js'
import type { Batch, Ledger, Numbered, Position, StockQuery } from './ledger.js'
import type { UsageQuery } from './query.js'
import { rollUp } from './rollups.js'
import { adding, checkLedger, prepareLedger } from './sqlite-schema.js'
import {
  replaced,
  type StockCount,
  type StockFound,
  type StockRow,
  stockAnswer,
} from './stock-sums.js'
import { linesOf, SQLITE, type Statement, totalsOf } from './usage-sql.js'

export interface SqliteLedgerOptions {
  readonly path: string
  readonly durability: 'normal' | 'full'
  readonly access?: 'read-only' | 'read-write'
}

/** Events that are taken away in one transaction. */
const PORTION = 5000

/**
 * Opens a ledger in a file. Everything is done at once inside, so that it is for a thread of its own, or for a program that does
 * nothing else. Throws an Error that names the file.
 */
export function openSqliteLedger(options: SqliteLedgerOptions): Ledger {
  let db: Database | undefined
  try {
    const readonly = options.access === 'read-only'
    db = new Sqlite(options.path, { readonly, fileMustExist: readonly })
    if (readonly) checkLedger(db)
    else prepare(db, options)
    return new SqliteLedger(db)
  } catch (thrown) {
    db?.close()
    const reason = messageOf(thrown)
    throw new Error(`cannot use ${options.path} as a ledger of usage: ${reason}`)
  }
}

function prepare(db: Database, { durability }: SqliteLedgerOptions): void {
  db.pragma('journal_mode = WAL')
  db.pragma(`synchronous = ${durability === 'full' ? 'FULL' : 'NORMAL'}`)
  prepareLedger(db)
}

class SqliteLedger implements Ledger {
  readonly #db: Database
  readonly #statements: ReturnType<typeof statementsOf>

  constructor(db: Database) {
    this.#db = db
    this.#statements = statementsOf(db)
  }

  async position(lane: string): Promise<Position | undefined> {
    return this.#statements.position.get(lane)
  }

  async add(batch: Batch): Promise<number> {
    return this.#db.transaction(() => this.#add(batch)).immediate()
  }

  async usage(query: UsageQuery) {
    const lines = this.#read(linesOf(query, SQLITE))
    const [totals] = this.#read(totalsOf(query, SQLITE))
    return answerOf(query, lines, totals)
  }

  async after(lane: string, seq: number, limit: number): Promise<readonly Numbered[]> {
    return this.#statements.after.all(lane, seq, limit).flatMap(({ seq: number, event: line }) => {
      const event = readEvent(line)
      return event === undefined ? [] : [{ seq: number, event }]
    })
  }

  async cursor(lane: string, sink: string): Promise<number> {
    return this.#statements.cursor.get(lane, sink) ?? 0
  }

  async moveCursor(lane: string, sink: string, seq: number): Promise<void> {
    this.#statements.moveCursor.run(lane, sink, seq)
  }

  async count(counts: readonly StockCount[]): Promise<void> {
    this.#db
      .transaction(() => {
        for (const count of counts) this.#count(count)
      })
      .immediate()
  }

  async stock(query: StockQuery) {
    const { source = null, owner = null, from, to, limit } = query
    const day = 86_400_000
    const days = { from: Math.floor(from / day), to: Math.ceil(to / day) }
    const found = this.#statements.stock.all({ source, owner, ...days, limit: limit + 1 })
    return stockAnswer(found, query)
  }

  async owners(source: string, sinceHour: number): Promise<readonly string[]> {
    return this.#statements.owners.all(source, sinceHour)
  }

  async prune(before: number): Promise<number> {
    return this.#statements.prune.run(before, PORTION).changes
  }

  async close(): Promise<void> {
    this.#db.close()
  }

  #add({ lane, segment, position, events }: Batch): number {
    const { insert, addCalls, addUpstreams, movePosition } = this.#statements
    const fresh = events.filter(
      (event) => insert.run(event.id, lane, event.at, printEvent(event)).changes > 0,
    )
    const { calls, upstreams } = rollUp(fresh)
    for (const { sums, ...dimensions } of calls) addCalls.run({ ...dimensions, ...sums })
    for (const { sums, ...dimensions } of upstreams) addUpstreams.run({ ...dimensions, ...sums })
    movePosition.run({ lane, segment, position })
    return fresh.length
  }

  #count(count: StockCount): void {
    const { stockRow, setStock, addStockDay } = this.#statements
    const { source, owner, tier } = count
    const { row, days } = replaced(stockRow.get(source, owner, tier), count)
    setStock.run(row)
    for (const { day, hours } of days) addStockDay.run({ source, owner, tier, day, hours })
  }

  #read({ text, values }: Statement): readonly RawLine[] {
    const bound = Object.fromEntries(values.map((value, index) => [`${index + 1}`, value]))
    return this.#db.prepare<[typeof bound], RawLine>(text).all(bound)
  }
}

function statementsOf(db: Database) {
  return {
    position: db.prepare<[string], Position>(
      'SELECT segment, position FROM usage_lanes WHERE lane = ?',
    ),
    movePosition: db.prepare<Position & { lane: string }>(
      `INSERT INTO usage_lanes (lane, segment, position) VALUES (@lane, @segment, @position)
       ON CONFLICT (lane) DO UPDATE SET segment = excluded.segment, position = excluded.position`,
    ),
    insert: db.prepare<[string, string, number, string]>(
      `INSERT INTO usage_events (id, lane, at, event) VALUES (?, ?, CAST(? AS INTEGER), ?)
       ON CONFLICT (id) DO NOTHING`,
    ),
    addCalls: db.prepare<object>(adding('usage_calls')),
    addUpstreams: db.prepare<object>(adding('usage_upstreams')),
    after: db.prepare<[string, number, number], { seq: number; event: string }>(
      'SELECT seq, event FROM usage_events WHERE lane = ? AND seq > ? ORDER BY seq LIMIT ?',
    ),
    cursor: db
      .prepare<[string, string], number>('SELECT seq FROM usage_sinks WHERE lane = ? AND sink = ?')
      .pluck(),
    moveCursor: db.prepare<[string, string, number]>(
      `INSERT INTO usage_sinks (lane, sink, seq) VALUES (?, ?, ?)
       ON CONFLICT (lane, sink) DO UPDATE SET seq = excluded.seq`,
    ),
    stockRow: db.prepare<[string, string, string], StockRow>(
      'SELECT * FROM usage_stock WHERE source = ? AND owner = ? AND tier = ?',
    ),
    setStock: db.prepare<StockRow>(
      `INSERT INTO usage_stock (source, owner, tier, records, characters, since)
       VALUES (@source, @owner, @tier, @records, @characters, @since)
       ON CONFLICT (source, owner, tier) DO UPDATE SET records = excluded.records,
         characters = excluded.characters, since = excluded.since`,
    ),
    addStockDay: db.prepare<object>(
      `INSERT INTO usage_stock_days (source, owner, tier, day, hours)
       VALUES (@source, @owner, @tier, @day, @hours)
       ON CONFLICT (source, owner, tier, day)
         DO UPDATE SET hours = usage_stock_days.hours + excluded.hours`,
    ),
    stock: db.prepare<object, StockFound>(
      `SELECT *, (SELECT sum(hours) FROM usage_stock_days AS days
         WHERE days.source = usage_stock.source AND days.owner = usage_stock.owner
           AND days.tier = usage_stock.tier AND day >= @from AND day < @to) AS hours
       FROM usage_stock WHERE (@source IS NULL OR source = @source)
         AND (@owner IS NULL OR owner = @owner)
       ORDER BY records DESC, source, owner, tier LIMIT @limit`,
    ),
    owners: db
      .prepare<[string, number], string>(
        `SELECT owner FROM usage_stock WHERE source = ?
         UNION SELECT owner FROM usage_calls WHERE hour >= ? AND owner <> 'any:'`,
      )
      .pluck(),
    prune: db.prepare<[number, number]>(
      `DELETE FROM usage_events WHERE seq IN
         (SELECT seq FROM usage_events WHERE at < ? ORDER BY at LIMIT ?)`,
    ),
  }
}
