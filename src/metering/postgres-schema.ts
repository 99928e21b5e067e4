import { CALL_SUMS, UPSTREAM_SUMS } from './rollups.js'

const KEY_COLUMNS = `
  hour bigint NOT NULL, caller text NOT NULL, owner text NOT NULL, method text NOT NULL,
  version text NOT NULL, outcome text NOT NULL, tiers text NOT NULL`
const KEYS = ['hour', 'caller', 'owner', 'method', 'version', 'outcome', 'tiers'] as const

/** Taken for the length of a migration, so that gateways that start together do it once: "A2MU" in ASCII. */
const MIGRATION_LOCK = 0x41324d55

/**
 * Every step there has been, oldest first. A step that has been released is never changed. Texts compare by bytes, so that the order of
 * keys is everywhere the same.
 */
const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE usage_events (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL UNIQUE,
    lane text NOT NULL, at bigint NOT NULL, event text NOT NULL
  );
  CREATE INDEX usage_events_by_time ON usage_events (at);
  CREATE INDEX usage_events_by_lane ON usage_events (lane, seq);
  CREATE TABLE usage_lanes (
    lane text PRIMARY KEY, segment bigint NOT NULL, position bigint NOT NULL
  );
  CREATE TABLE usage_calls (${KEY_COLUMNS},
    calls bigint NOT NULL, records_in bigint NOT NULL, records_out bigint NOT NULL,
    characters_in bigint NOT NULL, characters_out bigint NOT NULL, vectors_in bigint NOT NULL,
    vectors_out bigint NOT NULL, tokens bigint NOT NULL, bytes_in bigint NOT NULL,
    bytes_out bigint NOT NULL, ms double precision NOT NULL, attempts bigint NOT NULL,
    PRIMARY KEY (${KEYS.join(', ')})
  );
  CREATE TABLE usage_upstreams (${KEY_COLUMNS}, upstream text NOT NULL,
    calls bigint NOT NULL, asks bigint NOT NULL, attempts bigint NOT NULL,
    failures bigint NOT NULL, refusals bigint NOT NULL, skipped bigint NOT NULL,
    records bigint NOT NULL, ms double precision NOT NULL,
    PRIMARY KEY (${KEYS.join(', ')}, upstream)
  );
  CREATE TABLE usage_sinks (
    lane text NOT NULL, sink text NOT NULL, seq bigint NOT NULL, PRIMARY KEY (lane, sink)
  );
  CREATE TABLE usage_stock (
    source text NOT NULL, owner text NOT NULL, tier text NOT NULL, records bigint NOT NULL,
    characters bigint NOT NULL, since double precision NOT NULL,
    PRIMARY KEY (source, owner, tier)
  );
  CREATE TABLE usage_stock_days (
    source text NOT NULL, owner text NOT NULL, tier text NOT NULL, day bigint NOT NULL,
    hours double precision NOT NULL, PRIMARY KEY (source, owner, tier, day)
  );
  `,
]

/** What a schema is brought up to date with: one connection's `query`. */
export type Ask = (text: string, values?: unknown[]) => Promise<{ rows: unknown[] }>

/** Brings a database to the newest schema, in one transaction. Rejects where it is of a newer release. */
export async function prepareDatabase(ask: Ask): Promise<void> {
  await ask('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
  await ask('CREATE TABLE IF NOT EXISTS usage_schema (version bigint NOT NULL)')
  const { rows } = await ask('SELECT version::int AS version FROM usage_schema')
  const version = versionIn(rows)
  if (version > MIGRATIONS.length) {
    throw new Error('the ledger in this database is of a newer release; use that')
  }
  for (const step of MIGRATIONS.slice(version)) await ask(step)
  await ask('DELETE FROM usage_schema')
  await ask('INSERT INTO usage_schema VALUES ($1)', [MIGRATIONS.length])
}

function versionIn([row]: readonly unknown[]): number {
  return typeof row === 'object' && row !== null && 'version' in row ? Number(row.version) : 0
}

const TEXTS: ReadonlySet<string> = new Set([
  'caller',
  'owner',
  'method',
  'version',
  'outcome',
  'tiers',
  'upstream',
])

/** The columns of a table of sums, in the order in which `adding` takes them, each as an array. */
export function columnsOf(table: 'usage_calls' | 'usage_upstreams'): readonly string[] {
  return table === 'usage_calls' ? [...KEYS, ...CALL_SUMS] : [...KEYS, 'upstream', ...UPSTREAM_SUMS]
}

/** `INSERT` of many lines that adds each to what stands under its key. */
export function adding(table: 'usage_calls' | 'usage_upstreams'): string {
  const sums = table === 'usage_calls' ? CALL_SUMS : UPSTREAM_SUMS
  const keys = columnsOf(table).slice(0, -sums.length)
  const columns = columnsOf(table)
  const arrays = columns.map((name, index) => `$${index + 1}::${typeOf(name)}[]`)
  const updates = sums.map((name) => `${name} = ${table}.${name} + excluded.${name}`)
  return `INSERT INTO ${table} (${columns.join(', ')}) SELECT * FROM unnest(${arrays.join(', ')})
    ON CONFLICT (${keys.join(', ')}) DO UPDATE SET ${updates.join(', ')}`
}

function typeOf(column: string): string {
  if (TEXTS.has(column)) return 'text'
  return column === 'ms' ? 'double precision' : 'bigint'
}
