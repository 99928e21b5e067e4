import { openLedgerToRead } from '../app/usage.js'
import type { Config } from '../config/config.js'
import type { UsageLine } from '../metering/answer.js'
import { QueryError, readQuery, readStockQuery } from '../metering/query.js'
import { Failure } from './failure.js'

/** Lines about usage with what they come to; as `/usage` and `/usage/stock` of the admin listener answer. */
export interface Told {
  readonly from: string
  readonly to: string
  readonly lines: readonly UsageLine[]
  readonly totals: Readonly<Record<string, number>>
  readonly more: boolean
}

/** Where usage is asked for: a running gateway, or the ledger itself. */
export interface UsageSource {
  readonly name: string
  /** What has to be known besides, for people. */
  readonly note: string | undefined
  ask(params: URLSearchParams): Promise<Told>
  close(): Promise<void>
}

export type What = 'usage' | 'stock'

const PATIENCE_MS = 30_000
/** How long a gateway may take to show that it is there, before the ledger is read instead. */
const KNOCK_MS = 1000

/** The admin listener of a gateway. */
export function fromGateway(admin: URL, what: What): UsageSource {
  const path = what === 'usage' ? 'usage' : 'usage/stock'
  return {
    name: `the gateway at ${admin.origin}`,
    note: undefined,
    async ask(params) {
      const url = new URL(path, admin)
      url.search = params.toString()
      return readTold(await get(url))
    },
    close: async () => {},
  }
}

/** The gateway that a configuration describes where it runs, else its ledger. */
export async function fromConfig(config: Config, what: What): Promise<UsageSource> {
  const { admin } = config
  if (admin !== undefined && admin.port !== 0) {
    const host = admin.host.includes(':') ? `[${admin.host}]` : admin.host
    const url = new URL(`http://${host}:${admin.port}/`)
    if (await answers(url)) return fromGateway(url, what)
  }
  return fromLedger(config, what)
}

async function fromLedger(config: Config, what: What): Promise<UsageSource> {
  const { ledger, name, waiting } = await openLedgerToRead(config)
  const note =
    waiting === 0
      ? undefined
      : `${waiting} bytes of usage wait in the spool; the next start of the gateway takes them in`
  return {
    name,
    note,
    async ask(params) {
      try {
        const now = Date.now()
        if (what === 'usage') return await ledger.usage(readQuery(params, now))
        return await ledger.stock(readStockQuery(params, now))
      } catch (thrown) {
        throw thrown instanceof QueryError ? new Failure(2, thrown.message) : thrown
      }
    },
    close: () => ledger.close(),
  }
}

async function answers(admin: URL): Promise<boolean> {
  try {
    const url = new URL('usage?by=version&limit=1', admin)
    const response = await fetch(url, { signal: AbortSignal.timeout(KNOCK_MS) })
    await response.body?.cancel()
    return response.ok
  } catch {
    return false
  }
}

interface Got {
  readonly status: number
  readonly text: string
  readonly url: URL
}

async function get(url: URL): Promise<Got> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(PATIENCE_MS) })
    return { status: response.status, text: await response.text(), url }
  } catch {
    throw new Failure(
      1,
      `no answer from ${url.origin}; is that the admin listener, and does a gateway run there?`,
    )
  }
}

function readTold({ status, text, url }: Got): Told {
  const value = parsed(text)
  if (status === 200 && isTold(value)) return value
  const reason = typeof value === 'object' && value !== null && 'error' in value ? value.error : ''
  if (typeof reason === 'string' && reason !== '') throw new Failure(status === 400 ? 2 : 1, reason)
  throw new Failure(
    1,
    `${url.origin} answered with HTTP status ${status}; is it the admin listener?`,
  )
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isTold(value: unknown): value is Told {
  return typeof value === 'object' && value !== null && 'lines' in value && 'totals' in value
}
