import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { UsageAnswer } from '../metering/answer.js'
import { toCsv } from '../metering/csv.js'
import type { StockQuery } from '../metering/ledger.js'
import {
  QueryError,
  readFormat,
  readQuery,
  readStockQuery,
  type UsageQuery,
} from '../metering/query.js'
import type { StockAnswer } from '../metering/stock-sums.js'
import { messageOf } from '../protocol/errors.js'
import { refusalReply, sendJson } from './replies.js'

/** Whom questions about usage are put to. Rejects where the ledger cannot be read, with a reason for operators. */
export interface UsageSource {
  usage(query: UsageQuery): Promise<UsageAnswer>
  stock(query: StockQuery): Promise<StockAnswer>
  /** Wall time in ms since 1970. */
  now(): number
}

const OFF = refusalReply(404, 'usage is not metered: the configuration says usage: off')

/** `/usage` and `/usage/stock`, in JSON or CSV. */
export function addUsageRoutes(app: FastifyInstance, source: UsageSource | undefined): void {
  app.get('/usage', (request, reply) =>
    answer(request, reply, source && ((params) => source.usage(readQuery(params, source.now())))),
  )
  app.get('/usage/stock', (request, reply) =>
    answer(
      request,
      reply,
      source && ((params) => source.stock(readStockQuery(params, source.now()))),
    ),
  )
}

type Read = (params: URLSearchParams) => Promise<UsageAnswer | StockAnswer>

async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  read: Read | undefined,
): Promise<FastifyReply> {
  if (read === undefined) return refused(reply, OFF)
  const params = new URL(request.url, 'http://localhost').searchParams
  try {
    const format = readFormat(params, request.headers.accept)
    const found = await read(params)
    if (format === 'json') return reply.send(found)
    reply.type('text/csv; charset=utf-8').header('x-more', `${found.more}`)
    return reply.send(toCsv(found.lines))
  } catch (thrown) {
    const reason = messageOf(thrown)
    return refused(reply, refusalReply(thrown instanceof QueryError ? 400 : 503, reason))
  }
}

function refused(reply: FastifyReply, refusal: typeof OFF): FastifyReply {
  reply.hijack()
  sendJson(reply.raw, refusal)
  return reply
}
