import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, USAGE_FILE, USAGE_SPOOL } from '../config/config.js'
import { segmentsIn } from '../metering/lane.js'
import type { Ledger } from '../metering/ledger.js'

/** A ledger that is only read, beside whatever writes to it. */
export interface OpenedLedger {
  readonly ledger: Ledger
  /** What it is, for people; never with a password. */
  readonly name: string
  /** Bytes of usage that are in the gateway's spool and not in it yet. */
  readonly waiting: number
}

/** Opens the ledger that a configuration names. Throws one Error that says what to do where there is none. */
export async function openLedgerToRead({ usage, dataDir }: Config): Promise<OpenedLedger> {
  if (usage === undefined)
    throw new Error('usage is not metered: the configuration says usage: off')
  const waiting = spooledBytes(join(dataDir, USAGE_SPOOL))
  const { ledger: where } = usage
  if (where.kind === 'postgres') {
    const { openPostgresLedger } = await import('../metering/postgres-ledger.js')
    const { host, pathname } = new URL(where.url)
    return {
      ledger: await openPostgresLedger(where),
      name: `postgres://${host}${pathname}`,
      waiting,
    }
  }
  const path = join(dataDir, USAGE_FILE)
  if (!existsSync(path)) throw new Error(`there is no ledger at ${path}; nothing was metered yet`)
  const { openSqliteLedger } = await import('../metering/sqlite-ledger.js')
  const ledger = openSqliteLedger({ path, durability: 'normal', access: 'read-only' })
  return { ledger, name: path, waiting }
}

function spooledBytes(folder: string): number {
  if (!existsSync(folder)) return 0
  return segmentsIn(folder).reduce((sum, { bytes }) => sum + bytes, 0)
}
