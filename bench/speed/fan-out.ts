/**
 * The least that merges several stores: parse, ask all at once, parse their answers, fuse by rank, print. Nobody's key is
 * asked for, nothing is checked, limited, counted or reported.
 *
 *     fan-out.ts URL…
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Pool } from 'undici'
import { announce, readCall, sendJson } from './minimal-http.js'

const ASKED = 20
const K = 60
const HEADERS = { 'content-type': 'application/json' }

interface Result {
  readonly id: string
  score: number
}

async function ask(pool: Pool, body: string): Promise<Result[]> {
  const reply = await pool.request({ method: 'POST', path: '/', headers: HEADERS, body })
  return JSON.parse(await reply.body.text()).result.records
}

function fuse(lists: readonly Result[][]): Result[] {
  const found = new Map<string, { record: Result; sum: number }>()
  for (const list of lists) {
    list.forEach((record, index) => {
      const share = 1 / (K + index + 1)
      const known = found.get(record.id)
      if (known === undefined) found.set(record.id, { record, sum: share })
      else known.sum += share
    })
  }
  const best = lists.length / (K + 1)
  const ordered = [...found.values()].sort((a, b) => b.sum - a.sum)
  return ordered.map(({ record, sum }) => ({ ...record, score: sum / best }))
}

async function recall(
  pools: readonly Pool[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { id, method, params } = await readCall(request)
  const body = JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, limit: ASKED } })
  const lists = await Promise.all(pools.map((pool) => ask(pool, body)))
  const records = fuse(lists).slice(0, params?.limit)
  sendJson(response, JSON.stringify({ jsonrpc: '2.0', id, result: { records } }))
}

const pools = process.argv.slice(2).map((url) => new Pool(new URL(url).origin, { connections: 64 }))
announce(createServer((request, response) => void recall(pools, request, response)))
